// good_line.pml: or with a line.
