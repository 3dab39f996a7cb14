import { browserEnvironment } from '../../../src/door/engine/browser.ts'
import { openEngine } from '../../../src/door/engine/open-engine.ts'

/** The engine of a door in a page without a screen: tests call it as `door`. */
Object.assign(globalThis, { door: await openEngine(browserEnvironment('bare')) })
