"""Calls as XML elements whose content the tool's schema coerces: Morph-XML."""
