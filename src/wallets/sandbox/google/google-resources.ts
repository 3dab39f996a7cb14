import { GoogleKind } from '../../../core/contract/definition.ts'
import { checkFields } from '../../google/check-fields.ts'
import { type GoogleRole, typeOf } from '../../google/field-table.ts'
import { isRecord } from '../../google/json.ts'

/** What the Google Wallet API takes, by the table of fields that publishing checks definitions with. */

export const googleKinds = GoogleKind.options
export type SandboxKind = GoogleKind
export type Role = GoogleRole

export type Resource = { id: string } & Record<string, unknown>

export const MAX_MESSAGES = 10

export type Verdict = { ok: true; resource: Resource } | { ok: false; reason: 'invalid' | 'forbidden'; message: string }

/** Whether Google would take a whole resource. A class that names a place for callbacks comes from where images can be had. */
export function checkResource(kind: SandboxKind, role: Role, body: unknown, issuerId: string): Verdict {
  if (!isRecord(body)) return { ok: false, reason: 'invalid', message: 'The body is not a JSON object.' }
  const needsLogos = isRecord(body.callbackOptions) && /^https:/.test(String(body.callbackOptions.url))
  for (const { path, message } of checkFields(typeOf(kind, role), body, { needsLogos })) {
    return { ok: false, reason: 'invalid', message: `Invalid value for ${path.join('.')}: ${message}.` }
  }
  const resource = body as Resource
  if (!resource.id.startsWith(`${issuerId}.`)) {
    return { ok: false, reason: 'forbidden', message: `The issuer of ${resource.id} is not ${issuerId}.` }
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
