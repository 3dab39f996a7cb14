import type { Definition, PassType } from '../../../core/contract/definition.ts'
import type { Issue } from '../../../core/errors.ts'
import { appleOf, mergeUnder } from '../../../core/rules/display/about.ts'
import { semanticTags } from '../../../core/rules/display/flight.ts'

/**
 * What keeps a definition with `apple.poster` from being a poster ticket, after the rules of Apple's own pass-builder. A
 * phone would show the older style instead, without a word.
 */
export function* checkPoster(definition: Definition, passType: PassType): Generator<Issue> {
  const { apple = {}, design, event } = definition
  if (apple.poster !== true) return
  if (passType !== 'eventTicket') yield { path: ['apple', 'poster'], message: 'Only an eventTicket can be a poster' }
  const tags = semanticTags(mergeUnder(appleOf({ event }), apple))
  if (!tags.text('eventName')) yield { path: ['event', 'name'], message: 'A poster ticket needs the name of the event' }
  if (!tags.text('venueName')) {
    yield { path: ['event', 'venue', 'name'], message: 'A poster ticket needs the name of the venue' }
  }
  if (design.images.artwork === undefined && design.images.background === undefined) {
    yield { path: ['design', 'images', 'artwork'], message: 'A poster ticket needs an artwork or a background' }
  }
  const nfc = apple.nfc as { requiresAuthentication?: unknown } | undefined
  if (!nfc) {
    yield { path: ['apple', 'nfc'], message: 'A poster ticket is read by NFC: give nfc, with requiresAuthentication' }
  } else if (nfc.requiresAuthentication !== true) {
    yield { path: ['apple', 'nfc', 'requiresAuthentication'], message: 'Must be true on a poster ticket' }
  }
}
