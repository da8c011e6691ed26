// Before anything is painted: the theme that was chosen here, so that no other one flashes up.
try {
  const { theme } = JSON.parse(localStorage.getItem("maitred.studio") ?? "{}");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Nothing was chosen, or nothing can be kept: the system's theme.
}
