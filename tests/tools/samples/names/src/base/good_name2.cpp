// good_name2.cpp: classes and their names; class TaskManager in a comment is none.
class TaskManager {};  // want(names)
struct QueueHelper;  // want(names)
class MUSTER_API PoolImpl2 final : Pool {};  // want(names)
class MUSTER_ANNOTATION(capability("x")) Manager {};  // want(names)
enum class Helper { none };  // want(names)
using OldManager = Supervisor;  // want(names)
struct alignas(64) LineHelper {};  // want(names)
class Supervisor {};
class HelperThread {};
struct ManagerView {};
class Impl {};
const char* text = "class TaskManager";
