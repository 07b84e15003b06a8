@unittest.skip("not today")  # want(words)
def test_one(): pass
@unittest.skipIf(True, "never")  # want(words)
def test_two(self): self.skipTest("never")  # want(words)
skip(1)
