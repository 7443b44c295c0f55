"""Front ends for a terminal. They watch events and answer requests; they never drive.

transcript   events folded into entries        drawing   the one way to draw entries and requests
plain/       as lines, written once            screen/   on the whole screen, drawn again as they grow
session      what lasts between tasks          slash     the commands to the program itself
"""
