import type { Definition, FieldGroup, PassType } from '../../../core/contract/schemas/definition.ts'
import type { Issue } from '../../../core/errors.ts'
import { appleOf, mergeUnder } from '../../../core/rules/display/about.ts'
import { isPosterType } from '../../../core/rules/display/card.ts'
import { semanticTags } from '../../../core/rules/display/flight.ts'
import { isPosterTicket, posterPlaces } from '../../../core/rules/display/poster.ts'
import { placeholdersDeep } from '../../../core/rules/template/placeholder.ts'

/**
 * Checks Apple's requirements for posters. If one is not met, phones silently show the classic style or omit fields.
 */
export function* checkPoster(definition: Definition, passType: PassType): Generator<Issue> {
  for (const { path } of placeholdersDeep(definition.apple?.preferredStyleSchemes)) {
    const message = 'Cannot have a placeholder, because the rules of a style are checked when a version is published'
    yield { path: ['apple', 'preferredStyleSchemes', ...path], message }
  }
  if (passType === 'eventTicket') {
    if (isPosterTicket(definition.apple)) yield* checkEventPoster(definition)
  } else if (definition.apple?.poster !== true) return
  else if (isPosterType(passType)) yield* checkGenericPoster(definition)
  else yield { path: ['apple', 'poster'], message: 'A boarding pass cannot be a poster' }
}

function* checkEventPoster({ apple = {}, nfc: own, design, event, accept = [] }: Definition): Generator<Issue> {
  const tags = semanticTags(mergeUnder(appleOf({ event }), apple))
  if (!tags.text('eventName')) yield { path: ['event', 'name'], message: 'A poster ticket needs the name of the event' }
  if (!tags.text('venueName')) {
    yield { path: ['event', 'venue', 'name'], message: 'A poster ticket needs the name of the venue' }
  }
  yield* checkArtwork(design)
  const override = apple.nfc as { requiresAuthentication?: unknown } | undefined
  if (override ?? own) {
    if ((override?.requiresAuthentication ?? own?.requiresAuthentication) !== true) {
      const place = own ? ['nfc'] : ['apple', 'nfc']
      yield { path: [...place, 'requiresAuthentication'], message: 'Must be true on a poster ticket' }
    }
    return
  }
  const hasBarcode = design.barcode !== null
  if (hasBarcode && accept.includes('poster-without-nfc')) return
  const choice = hasBarcode
    ? '. Or accept poster-without-nfc: iPhones with iOS 27 or later then show the barcode on the ' +
      'poster, and iPhones with an earlier iOS show the event ticket'
    : ''
  yield {
    path: ['apple', 'nfc'],
    message: `A poster ticket is read by NFC: set nfc with requiresAuthentication${choice}`,
  }
}

/** The groups of the design from which each field group of a poster takes its fields. */
const sources: Record<(typeof posterPlaces)[number]['group'], FieldGroup[]> = {
  headerFields: ['header'],
  primaryFields: ['primary', 'secondary'],
  footerFields: ['auxiliary'],
}

function* checkGenericPoster({ apple = {}, design }: Definition): Generator<Issue> {
  yield* checkArtwork(design)
  const own = (apple.posterGeneric ?? {}) as Record<string, unknown>
  for (const { group, max, named } of posterPlaces) {
    if (own[group] !== undefined) continue
    const fields = sources[group].flatMap((from) => design.fields[from].map((_, index) => [from, index] as const))
    const surplus = fields[max]
    if (!surplus) continue
    yield {
      path: ['design', 'fields', ...surplus],
      message:
        `A poster shows at most ${named}, from ${sources[group].join(' and ')} fields: move this one to the back, or ` +
        `set apple.posterGeneric.${group}`,
    }
  }
}

function* checkArtwork({ images }: Definition['design']): Generator<Issue> {
  if (images.artwork !== undefined || images.background !== undefined) return
  yield { path: ['design', 'images', 'artwork'], message: 'A poster needs an artwork or a background' }
}
