// Keeps the files of the page without a server in the browser, so that it works offline.
// scripts/lab_page.py fills in the names of the files and their digest.

const FILES = NAMES;
const CACHE = "ackclock-VERSION";

addEventListener("install", (event) => {
  const load = async () => (await caches.open(CACHE)).addAll(FILES.map((name) => new Request(name, { cache: "no-cache" })));
  event.waitUntil(load().then(() => skipWaiting()));
});

addEventListener("activate", (event) => {
  const others = async () => (await caches.keys()).filter((name) => name.startsWith("ackclock-") && name !== CACHE);
  event.waitUntil(others().then((names) => Promise.all(names.map((name) => caches.delete(name)))));
});

// One version of all files, or the network: a page never has files of two versions. The C compiler is
// kept when it was used.
addEventListener("fetch", (event) => {
  const answer = async () => {
    const cache = await caches.open(CACHE);
    const kept = await cache.match(event.request, { ignoreSearch: true });
    if (kept) return kept;
    const found = await fetch(event.request);
    if (found.ok && event.request.url.includes("/clang/")) await cache.put(event.request, found.clone());
    return found;
  };
  if (event.request.method === "GET") event.respondWith(answer());
});
