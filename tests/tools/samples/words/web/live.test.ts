test.skip("shows the queue", () => {});  // want(words)
test("skips the queue", () => {});
