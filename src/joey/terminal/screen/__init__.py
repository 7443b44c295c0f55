"""The whole screen: transcript, request, input and status line."""
