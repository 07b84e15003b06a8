// slot.hpp: has a namesake in the library, which its neighbours mean instead.
#pragma once
