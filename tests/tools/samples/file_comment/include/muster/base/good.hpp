// good.hpp: says what it is.
#pragma once
