"""The pages in a real browser: headless Chromium, driven by Playwright (`make test-page`)."""
