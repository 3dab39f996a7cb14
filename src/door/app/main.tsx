/** @jsxImportSource preact */
import { render } from 'preact'
import { doorLanguage } from '../../core/rules/redemption/scan-message.ts'
import { browserEnvironment, keepUpToDate } from '../engine/browser.ts'
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

if (isSecureContext) {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  const spoken = doorLanguage(language.tag, language.locale, timeZone)
  const engine = await openEngine(browserEnvironment(DOOR_VERSION, () => spoken))
  mountApp(element, { engine, language, invitation })
  await keepUpToDate({ url: './door/sw.js', scope: './door' }, isBusy)
} else {
  // Show only a message, because browsers block the camera, the service worker, and locks on insecure pages.
  setPageLanguage(language)
  const { door, insecure } = language.words
  render(
    <main class="screen">
      <h1>{door}</h1>
      <p>{insecure}</p>
    </main>,
    element,
  )
}
