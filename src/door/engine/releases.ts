/** How often a new release is looked for, and how often a page that is busy is asked again. */
const LOOK_MS = 15 * 60_000
const ASK_MS = 1_000

/**
 * Keeps the page on the phone, and takes a new release over when nobody looks at a verdict.
 * @param worker the address of the service worker, and its scope
 * @param isBusy whether a verdict, or something half done, is on the screen
 */
export async function keepUpToDate(worker: { url: string; scope: string }, isBusy: () => boolean): Promise<void> {
  const container = navigator.serviceWorker
  if (!container) return
  // A page that no worker served yet is of the newest release already.
  let isControlled = container.controller !== null
  container.addEventListener('controllerchange', () => {
    if (isControlled) whenIdle(isBusy, () => location.reload())
    isControlled = true
  })
  const registration = await container.register(worker.url, { scope: worker.scope, updateViaCache: 'none' })
  const offer = () => {
    if (registration.waiting && container.controller) {
      whenIdle(isBusy, () => registration.waiting?.postMessage('take-over'))
    }
  }
  registration.addEventListener('updatefound', () => {
    registration.installing?.addEventListener('statechange', offer)
  })
  offer()
  // Without a network there is none to be found.
  setInterval(() => registration.update().catch(() => undefined), LOOK_MS)
}

function whenIdle(isBusy: () => boolean, act: () => void): void {
  if (isBusy()) setTimeout(() => whenIdle(isBusy, act), ASK_MS)
  else act()
}
