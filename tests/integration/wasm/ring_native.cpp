// ring_native.cpp: the native side of a ring that a module shares.
//
//     ring_native write FILE   plays the story (ring_story.hpp) on new memory and saves its bytes
//     ring_native read FILE    attaches to such bytes, and says what it finds, one task a line
#include <array>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "integration/wasm/ring_story.hpp"

namespace {

using namespace muster;

struct alignas(kCacheLine) Line {
  std::array<std::byte, kCacheLine> bytes{};
};

class Memory {
 public:
  explicit Memory(std::size_t bytes) : lines_((bytes + kCacheLine - 1) / kCacheLine) {}
  [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(lines_)); }

 private:
  std::vector<Line> lines_;
};

int fail(std::string_view what) {
  std::cerr << "ring_native: " << what << '\n';
  return 1;
}

int write(const std::string& path) {
  Memory memory(SharedRing::bytes_for(story::kGeometry));
  SharedRing ring;
  const AttachOutcome formatted = ring.format(memory.bytes(), story::kGeometry);
  if (formatted != AttachOutcome::attached) return fail(describe(formatted));
  if (!story::play(ring)) return fail("a step of the story went wrong");
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(memory.bytes().data()),
             static_cast<std::streamsize>(memory.bytes().size()));
  file.close();
  return file ? 0 : fail("cannot write " + path);
}

void say(std::string_view what, const TaskContents& contents, const Taken& taken,
         const RingSupervisor::Bytes& bytes) {
  std::cout << what << ' ' << contents.id - story::kFirstId << " attempt "
            << unsigned{taken.word.attempt} << (taken.word.cancelled ? " cancelled" : "");
  if (!bytes) {
    std::cout << " unreadable\n";
    return;
  }
  std::cout << " bytes " << bytes->size() << " of " << static_cast<int>(bytes->front()) << '\n';
}

int read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string content(std::istreambuf_iterator<char>(file), {});
  Memory memory(content.size());
  std::memcpy(memory.bytes().data(), content.data(), content.size());
  SharedRing ring;
  const AttachOutcome attached = ring.attach(memory.bytes().first(content.size()));
  if (attached != AttachOutcome::attached) return fail(describe(attached));
  const RingSupervisor supervisor(ring, story::kSupervisor);
  std::array<Settling, 4> found;
  const SweepResult swept = supervisor.sweep(story::kDead, found);
  std::cout << "swept tasks " << swept.count << " extents " << swept.extents << '\n';
  for (const Settling& task : std::span(found).first(swept.count)) supervisor.retry(task);
  for (Taken taken; (taken = supervisor.collect()).outcome == TakeOutcome::taken;) {
    say("result", supervisor.contents(taken), taken, supervisor.result_payload(taken));
  }
  const RingWorker worker(ring, story::kWorker);
  for (Taken taken; (taken = worker.claim()).outcome == TakeOutcome::taken;) {
    say("task", worker.contents(taken), taken, worker.payload(taken));
  }
  std::cout << "damage " << ring.damage() << '\n';
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() == 2 && words[0] == "write") return write(words[1]);
  if (words.size() == 2 && words[0] == "read") return read(words[1]);
  return fail("say write FILE or read FILE");
}
