// bad-name.hpp: is not in snake_case. want(names)
#pragma once
