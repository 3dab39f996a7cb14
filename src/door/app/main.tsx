import { doorLanguage } from '../../core/rules/redemption/door-language.ts'
import { browserEnvironment, keepUpToDate } from '../engine/browser.ts'
import { openEngine } from '../engine/open-engine.ts'
import { mountApp } from './app.tsx'
import { takeInvitation } from './claim-screen.tsx'
import { appLanguage } from './language.ts'

/** Of the release: put in by scripts/build-door.js. */
declare const DOOR_VERSION: string

const language = appLanguage(navigator.languages)
// Before anything else happens.
const invitation = takeInvitation()
const element = document.querySelector('#door')!

/** Whoever looks at a verdict, or does something by hand, is not to lose it to a new release. */
function isBusy(): boolean {
  return document.querySelector('.verdict, .sheet, .lock, form') !== null
}

if (isSecureContext) {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  const spoken = doorLanguage(language.tag, language.locale, timeZone)
  const engine = await openEngine(browserEnvironment(DOOR_VERSION, () => spoken))
  mountApp(element, { engine, language, invitation })
  await keepUpToDate({ url: './door/sw.js', scope: './door' }, isBusy)
} else {
  // Browsers keep camera, service worker and locks from such pages.
  element.textContent = language.words.insecure
}
