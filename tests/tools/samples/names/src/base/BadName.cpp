// BadName.cpp: is not in snake_case. want(names)
