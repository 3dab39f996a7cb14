import { z } from 'zod'

/** What the Google Wallet API knows of the resources that it takes, written down apart from whoever sends them. */

export const googleKinds = ['generic', 'eventTicket', 'loyalty', 'offer', 'giftCard', 'flight', 'transit'] as const
export type SandboxKind = (typeof googleKinds)[number]
export type Role = 'Class' | 'Object'

export type Resource = { id: string } & Record<string, unknown>

/** Fields without which Google refuses a resource; logos, which it wants too, cannot be had from a machine without https. */
const required: Record<`${SandboxKind}${Role}`, string[]> = {
  genericClass: [],
  genericObject: ['cardTitle', 'header'],
  eventTicketClass: ['issuerName', 'reviewStatus', 'eventName'],
  eventTicketObject: ['state'],
  loyaltyClass: ['issuerName', 'reviewStatus', 'programName'],
  loyaltyObject: ['state'],
  offerClass: ['issuerName', 'reviewStatus', 'title', 'provider', 'redemptionChannel'],
  offerObject: ['state'],
  giftCardClass: ['issuerName', 'reviewStatus'],
  giftCardObject: ['state', 'cardNumber'],
  flightClass: [
    'issuerName',
    'reviewStatus',
    'origin',
    'destination',
    'flightHeader',
    'localScheduledDepartureDateTime',
  ],
  flightObject: ['state', 'passengerName', 'reservationInfo'],
  transitClass: ['issuerName', 'reviewStatus', 'transitType'],
  transitObject: ['state', 'tripType'],
}

const ID = /^(\d+)\.[A-Za-z0-9._-]+$/
export const MAX_MESSAGES = 10

const Localized = z.looseObject({
  defaultValue: z.looseObject({ language: z.string().min(1), value: z.string().min(1) }),
})
const state = z.string().regex(/^(active|completed|expired|inactive)$/i)

/** Types of what most passes hold; what is not named here passes as it is. */
const Shape = z.looseObject({
  id: z.string().regex(ID, 'must be issuer.suffix, the suffix of letters, digits, dots, underscores and hyphens'),
  classId: z.string().regex(ID).optional(),
  state: state.optional(),
  reviewStatus: z.string().optional(),
  cardTitle: Localized.optional(),
  header: Localized.optional(),
  subheader: Localized.optional(),
  eventName: Localized.optional(),
  hexBackgroundColor: z
    .string()
    .regex(/^#[0-9a-f]{3}([0-9a-f]{3})?$/i)
    .optional(),
  barcode: z.looseObject({ type: z.string(), value: z.string().min(1) }).optional(),
  textModulesData: z
    .array(
      z.looseObject({
        id: z
          .string()
          .regex(/^[^.]*$/, 'must hold no dot')
          .optional(),
        header: z.string().optional(),
        body: z.string().optional(),
      }),
    )
    .optional(),
  linksModuleData: z.looseObject({ uris: z.array(z.looseObject({ uri: z.url() })).optional() }).optional(),
  messages: z.array(z.looseObject({})).max(MAX_MESSAGES).optional(),
})

export type Verdict = { ok: true; resource: Resource } | { ok: false; reason: 'invalid' | 'forbidden'; message: string }

/** Whether Google would take a whole resource. */
export function checkResource(kind: SandboxKind, role: Role, body: unknown, issuerId: string): Verdict {
  const parsed = Shape.safeParse(body)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return { ok: false, reason: 'invalid', message: `Invalid value for ${issue?.path.join('.')}: ${issue?.message}` }
  }
  const resource = parsed.data as Resource
  if (ID.exec(resource.id)?.[1] !== issuerId) {
    return { ok: false, reason: 'forbidden', message: `The issuer of ${resource.id} is not ${issuerId}.` }
  }
  const names = role === 'Object' ? ['classId', ...required[`${kind}${role}`]] : required[`${kind}${role}`]
  const missing = names.filter((name) => resource[name] === undefined || resource[name] === null)
  if (missing.length > 0) {
    return { ok: false, reason: 'invalid', message: `${missing.join(', ')} cannot be empty.` }
  }
  return { ok: true, resource }
}

/** PATCH as Google does it: objects key by key, anything else as a whole, and null takes a key away. */
export function mergePatch(base: Record<string, unknown>, patch: Record<string, unknown>): Record<string, unknown> {
  const merged = new Map(Object.entries(base))
  for (const [key, value] of Object.entries(patch)) {
    const current = merged.get(key)
    if (value === null) merged.delete(key)
    else merged.set(key, isRecord(value) ? mergePatch(isRecord(current) ? current : {}, value) : value)
  }
  return Object.fromEntries(merged)
}

/** As Google answers: states in lower case, and every class approved. */
export function asAnswered(resource: Resource): Resource {
  return {
    ...resource,
    ...(typeof resource.state === 'string' && { state: resource.state.toLowerCase() }),
    ...(resource.reviewStatus !== undefined && { reviewStatus: 'approved' }),
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
