// words.cpp: TODO: nobody will ever do this. want(words)
// TODO(#12): somebody will.
// TODO(ann): a name is no issue. want(words)
// FIXME(#12): want(words)
int hack;  // HACK want(words)
int xxx;   // XXX want(words)
const char* pattern = "/tmp/muster-XXXXXX";  // NOTODO, TODOS, hackers
const char* text = "TODO";  // want(words)

void swallow() {
  try {
  } catch (...) {}  // want(words)
  try {
  } catch ( ... )  // want(words)
  {
  }
  try {
  } catch (...) {
    // A destructor must not throw, and the error was counted already.
  }
  try {
  } catch (...) { throw; }
  try {
  } catch (const Stopped&) {}
}
int skipped() { return parser.skip(3) + DISABLED(1); }
void pause() { std::this_thread::sleep_for(1ms); }
