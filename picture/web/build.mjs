// Builds each page as one HTML file: its program, its styles, and a policy that lets it ask for nothing.
//
//   node picture/web/build.mjs            writes the files
//   node picture/web/build.mjs --check    says which of them another build would change
//
// `make page` installs the packages of package-lock.json into .cache/page, and runs this.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const PACKAGES = join(HERE, "..", "..", ".cache", "page");
const esbuild = createRequire(join(PACKAGES, "package.json"))("esbuild");

// A page: the folder of its entry main.tsx, its file, and what its program may ask for.
const PAGES = [
  { folder: "trace", file: "../page.html", connects: "'none'" },
  { folder: "live", file: "../../browse/page.html", connects: "'self'" },
];

// What a page is made of: the files beside this one, shared/ and its own folder.
export function sources(folder) {
  const inside = (path) =>
    readdirSync(path).flatMap((name) => {
      const each = join(path, name);
      return statSync(each).isDirectory() ? inside(each) : [each];
    });
  const beside = readdirSync(HERE)
    .map((name) => join(HERE, name))
    .filter((path) => statSync(path).isFile() && !path.endsWith(".md"));
  return [...beside, ...inside(join(HERE, "shared")), ...inside(join(HERE, folder))]
    .map((path) => relative(HERE, path).replaceAll("\\", "/"))
    .sort();
}

// tests/picture/test_bundle.py computes the same.
function hashOf(folder) {
  const hash = createHash("sha256");
  for (const name of sources(folder)) {
    hash.update(name + "\0").update(readFileSync(join(HERE, name))).update("\0");
  }
  return hash.digest("hex");
}

function policyOf(text) {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

async function built(page) {
  const result = await esbuild.build({
    entryPoints: [join(HERE, page.folder, "main.tsx")],
    bundle: true,
    minify: true,
    write: false,
    outdir: HERE,
    format: "iife",
    target: ["chrome109", "firefox115", "safari16.4"],
    jsx: "automatic",
    jsxImportSource: "preact",
    nodePaths: [join(PACKAGES, "node_modules")],
    legalComments: "none",
    charset: "ascii",
    logLevel: "warning",
  });
  const text = (ending) => result.outputFiles.find((each) => each.path.endsWith(ending))?.text ?? "";
  const program = text(".js").trim().replaceAll("</script", "<\\/script");
  const styles = text(".css").trim();
  const policy = [
    "default-src 'none'",
    `script-src ${policyOf(program)}`,
    `style-src ${policyOf(styles)}`,
    "img-src data:",
    `connect-src ${page.connects}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return readFileSync(join(HERE, "frame.html"), "utf8")
    .replace("POLICY", () => policy)
    .replace("SOURCES", () => hashOf(page.folder))
    .replace("STYLES", () => styles)
    .replace("PROGRAM", () => program);
}

const checks = process.argv.includes("--check");
let isOld = false;
for (const page of PAGES.filter((each) => existsSync(join(HERE, each.folder, "main.tsx")))) {
  const path = join(HERE, page.file);
  const text = await built(page);
  const name = relative(process.cwd(), path);
  if (!checks) {
    writeFileSync(path, text);
    console.log(`${name}: ${Math.round(text.length / 1000)} kB`);
  } else if (!existsSync(path) || readFileSync(path, "utf8") !== text) {
    console.error(`${name} is not what its sources make: make page`);
    isOld = true;
  }
}
process.exitCode = isOld ? 1 : 0;
