import type { GoogleKind } from '../../core/contract/definition.ts'
import type { GoogleResource } from './resource.ts'

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
  flight: { hexBackgroundColor: {} },
  transit: { hexBackgroundColor: {}, ticketLeg: { departureDateTime: {} }, ticketLegs: {} },
}

/** The object as a PATCH that leaves nothing of an earlier one: a key that is only left out would keep its old value. */
export function withCleared(kind: GoogleKind, object: GoogleResource): Record<string, unknown> {
  return fill(object, { ...always, ...ofKind[kind] })
}

function fill(value: Record<string, unknown>, keys: ManagedKeys): Record<string, unknown> {
  const cleared = Object.entries(keys).map(([key, inner]) => {
    const current = value[key] ?? null
    return [key, isRecord(current) ? fill(current, inner) : current]
  })
  return { ...value, ...Object.fromEntries(cleared) }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
