/**
 * Keeps the page of a door on the phone, so that it opens without a network. API requests bypass the service worker.
 * The service worker of a new release stores the files of that release, and takes over when the page is idle.
 */

/** The files of this release and, in `DOOR_BUILD`, its name. Set by scripts/build-door.js. */
declare const DOOR_FILES: readonly string[]
declare const DOOR_BUILD: string

/**
 * The properties of service worker events that this file uses. TypeScript's library for workers cannot be used, because
 * it conflicts with the library for pages.
 */
interface WorkerEvent extends Event {
  waitUntil(work: Promise<unknown>): void
  respondWith(response: Promise<Response>): void
  request: Request
  data: unknown
}
interface Worker {
  location: Location
  clients: { claim(): Promise<void> }
  skipWaiting(): Promise<void>
  addEventListener(type: string, listener: (event: WorkerEvent) => void): void
}
const worker = globalThis as unknown as Worker

const PREFIX = 'passes-door-'
const cacheName = PREFIX + DOOR_BUILD
/**
 * The address of the door page, relative to this file, so that it is also correct behind a proxy with a path prefix.
 */
const page = new URL('../door', worker.location.href).href
const files = [...DOOR_FILES, 'manifest.webmanifest', 'icon-512.png'].map(
  (name) => new URL(name, worker.location.href).href,
)

worker.addEventListener('install', (event) => event.waitUntil(install()))
worker.addEventListener('activate', (event) => event.waitUntil(activate()))
worker.addEventListener('message', ({ data }) => {
  if (data === 'take-over') void worker.skipWaiting()
})
worker.addEventListener('fetch', (event) => {
  const { request } = event
  if (request.method !== 'GET') return
  const { origin, pathname } = new URL(request.url)
  const address = origin + pathname
  if (address === page || files.includes(address)) event.respondWith(answer(address, request))
})

async function install(): Promise<void> {
  const cache = await caches.open(cacheName)
  const response = await fetch(page, { cache: 'no-cache' })
  const html = await response.clone().text()
  // Install nothing if the page needs files of another release, for example right after an update of the server.
  const isOfThis =
    response.ok && [...html.matchAll(/\/door\/([\w.-]+\.(?:js|css))"/g)].every(([, name]) => DOOR_FILES.includes(name!))
  if (!isOfThis) throw new Error('The page is of another release.')
  await cache.addAll(files)
  await cache.put(page, response)
}

async function activate(): Promise<void> {
  const names = await caches.keys()
  await Promise.all(
    names.filter((name) => name.startsWith(PREFIX) && name !== cacheName).map((name) => caches.delete(name)),
  )
  await worker.clients.claim()
}

async function answer(address: string, request: Request): Promise<Response> {
  const stored = await caches.open(cacheName).then((cache) => cache.match(address))
  return stored ?? fetch(request)
}
