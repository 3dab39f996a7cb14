/** @jsxImportSource preact */
import { render } from 'preact'
import { doorLanguage } from '../../core/rules/redemption/scan-message.ts'
import { browserEnvironment, keepUpToDate } from '../engine/browser.ts'
import type { DoorEngine } from '../engine/engine.ts'
import { openEngine } from '../engine/open-engine.ts'
import { mountApp, setPageLanguage } from './app.tsx'
import { takeInvitation } from './claim-screen.tsx'
import { appLanguage } from './language.ts'

/** The version of the release. Set by scripts/build-door.js. */
declare const DOOR_VERSION: string

const language = appLanguage(navigator.languages)
// Take the code first, so that it does not remain in the address while the page starts.
const invitation = takeInvitation()
const element = document.querySelector('#door')!

/** Whether a reload would lose something: a decision on the screen, or an open form. */
function isBusy(): boolean {
  return document.querySelector('.decision, .sheet, .lock, form') !== null
}

/** Shows only a message, because the door cannot work in this browser. */
function showMessage(text: string): void {
  setPageLanguage(language)
  render(
    <main class="screen">
      <h1>{language.words.door}</h1>
      <p>{text}</p>
    </main>,
    element,
  )
}

/** Opens the engine. If the browser blocks storage, shows how to allow it. */
async function open(): Promise<DoorEngine> {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  const spoken = doorLanguage(language.tag, language.locale, timeZone)
  try {
    return await openEngine(browserEnvironment(DOOR_VERSION, () => spoken))
  } catch (error) {
    showMessage(language.words.cannotStore)
    throw error
  }
}

if (isSecureContext) {
  mountApp(element, { engine: await open(), language, invitation })
  await keepUpToDate({ url: './door/sw.js', scope: './door' }, isBusy)
} else {
  // Browsers block the camera, the service worker, and locks on insecure pages.
  showMessage(language.words.insecure)
}
