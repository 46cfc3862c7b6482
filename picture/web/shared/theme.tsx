// Dark or light: the reader's system decides until the reader does.
import { useLayoutEffect, useState } from "preact/hooks";

type Theme = "auto" | "dark" | "light";
const NEXT: Record<Theme, Theme> = { auto: "dark", dark: "light", light: "auto" };

export function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(kept);
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("ottla-theme", theme);
    } catch {
      // A page from disk may have no storage.
    }
  }, [theme]);
  return (
    <button type="button" class="theme" onClick={() => setTheme(NEXT[theme])}>
      Theme: {theme}
    </button>
  );
}

function kept(): Theme {
  try {
    const found = localStorage.getItem("ottla-theme");
    return found === "dark" || found === "light" ? found : "auto";
  } catch {
    return "auto";
  }
}
