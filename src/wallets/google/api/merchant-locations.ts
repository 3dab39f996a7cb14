import type { GoogleResource } from '../resource.ts'
import type { GoogleApi, GoogleCalls } from './api.ts'
import { type GoogleApiError, isRefused } from './api-error.ts'

/** Keeps of each issuer whether Google takes places of its passes: only from those on a list that Google keeps. */
export interface LocationRefusals {
  isRefused(issuerId: string): Promise<boolean>
  insert(issuerId: string, message: string): Promise<void>
}

/**
 * The same calls, of which none fails because the issuer may not say where passes can be used: Google is asked once, and
 * from then on classes and objects of the issuer go out without `merchantLocations`.
 */
export function withAllowedLocations(api: GoogleApi, refusals: LocationRefusals): GoogleApi {
  async function send(resource: GoogleResource, attempt: (sent: GoogleResource) => Promise<void>): Promise<void> {
    if (resource.merchantLocations === undefined) return attempt(resource)
    const { merchantLocations: _, ...rest } = resource
    const [issuerId = ''] = resource.id.split('.')
    if (await refusals.isRefused(issuerId)) return attempt(rest)
    try {
      await attempt(resource)
    } catch (error) {
      if (!refusesLocations(error)) throw error
      await refusals.insert(issuerId, error.message)
      await attempt(rest)
    }
  }

  const guarded = (calls: GoogleCalls): GoogleCalls => ({
    ...calls,
    insertClass: (kind, resource) => send(resource, (sent) => calls.insertClass(kind, sent)),
    upsertClass: (kind, resource) => send(resource, (sent) => calls.upsertClass(kind, sent)),
    upsertObject: (kind, object, retired) => send(object, (sent) => calls.upsertObject(kind, sent, retired)),
    updateObject: (kind, object, retired) => send(object, (sent) => calls.updateObject(kind, sent, retired)),
    expireObject: (kind, object, retired) => send(object, (sent) => calls.expireObject(kind, sent, retired)),
  })
  return { ...guarded(api), bulk: guarded(api.bulk) }
}

/** Google has no code for it: "Issuer not allowlisted for Merchant Locations. Please contact support." is all it says. */
export function refusesLocations(error: unknown): error is GoogleApiError {
  return isRefused(error) && /merchant ?locations/i.test(error.message) && /allow-?list/i.test(error.message)
}
