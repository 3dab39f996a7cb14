import type { GoogleKind } from '../../../core/contract/definition.ts'
import { isRecord } from '../json.ts'
import type { GoogleResource } from '../resource.ts'

/** Optional keys that objects are built with; of those with keys of their own, these. */
interface ManagedKeys {
  [key: string]: ManagedKeys
}

const always: ManagedKeys = {
  barcode: { alternateText: {} },
  heroImage: {},
  textModulesData: {},
  linksModuleData: {},
  merchantLocations: {},
  validTimeInterval: { start: {}, end: {} },
}

const ofKind: Record<GoogleKind, ManagedKeys> = {
  generic: { subheader: {}, logo: {}, hexBackgroundColor: {} },
  eventTicket: { hexBackgroundColor: {} },
  loyalty: {},
  offer: {},
  giftCard: {},
  flight: { hexBackgroundColor: {}, reservationInfo: { confirmationCode: {} }, boardingAndSeatingInfo: {} },
  transit: {
    hexBackgroundColor: {},
    passengerNames: {},
    ticketLeg: { departureDateTime: {}, arrivalDateTime: {}, platform: {}, carriage: {}, ticketSeat: {} },
    ticketLegs: {},
  },
}

/** What a definition says in `google.object`. */
export type Overrides = Record<string, unknown>

/**
 * The object as a PATCH that leaves nothing of an earlier one, of what it is built with or of the overrides that were
 * retired: a key that is only left out would keep its old value. Replaced as a whole it would lose its messages.
 */
export function withCleared(kind: GoogleKind, object: GoogleResource, retired: Overrides[] = []): Overrides {
  const keys = retired.map(keysOf).reduce(joined, joined(always, ofKind[kind]))
  return fill(object, Object.fromEntries(Object.entries(keys).filter(([key]) => !kept.has(key))))
}

/** Never cleared: what names the object, what cannot be without, and what Google and notifications add to it. */
const kept = new Set(['id', 'classId', 'state', 'messages', 'kind', 'version'])

function keysOf(overrides: Overrides): ManagedKeys {
  // JSON can name a prototype as any other key; overrides leave it out, too.
  const entries = Object.entries(overrides).filter(([key]) => key !== '__proto__')
  return Object.fromEntries(entries.map(([key, value]) => [key, isRecord(value) ? keysOf(value) : {}]))
}

function joined(some: ManagedKeys, others: ManagedKeys): ManagedKeys {
  const all = new Map(Object.entries(some))
  for (const [key, inner] of Object.entries(others)) all.set(key, joined(all.get(key) ?? {}, inner))
  return Object.fromEntries(all)
}

function fill(value: Record<string, unknown>, keys: ManagedKeys): Record<string, unknown> {
  const cleared = Object.entries(keys).map(([key, inner]) => {
    const current = value[key] ?? null
    return [key, isRecord(current) ? fill(current, inner) : current]
  })
  return { ...value, ...Object.fromEntries(cleared) }
}
