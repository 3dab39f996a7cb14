import type { PassWallets, PlatformRefusal } from '../../../core/contract/wallets.ts'
import type { StoredRefusal } from '../../../storage/operations/refusals.ts'
import type { GoogleObject } from '../../../storage/passes/google-objects.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { Registration } from '../../../storage/passes/registrations.ts'

/** The delivery truth of one pass: what was told to each wallet, and what it fetched. */
export function toPassWallets(
  pass: StoredPass,
  registrations: Registration[],
  object: GoogleObject | undefined,
  refusal: StoredRefusal | undefined,
): PassWallets {
  const { walletVersion } = pass
  return {
    passId: pass.id,
    walletVersion,
    apple: registrations.map((registration) => ({
      deviceId: registration.deviceId,
      registeredAt: registration.registeredAt.toISOString(),
      pushedAt: registration.pushedAt?.toISOString() ?? null,
      pushedVersion: registration.pushedVersion || null,
      fetchedAt: registration.fetchedAt?.toISOString() ?? null,
      fetchedVersion: registration.fetchedVersion || null,
      // A device that was never pushed holds what it downloaded.
      state: Math.max(registration.fetchedVersion, 1) >= walletVersion ? 'current' : 'stale',
      lastError: registration.lastError,
    })),
    google: object
      ? {
          sentAt: object.sentAt.toISOString(),
          sentVersion: object.sentVersion,
          installedAt: object.installedAt?.toISOString() ?? null,
          activatedAt: object.activatedAt?.toISOString() ?? null,
          state: object.sentVersion >= walletVersion ? 'current' : 'stale',
          lastError: object.lastError,
        }
      : null,
    lastError: showRefusal(refusal),
  }
}

export function showRefusal(refusal: StoredRefusal | undefined): PlatformRefusal | null {
  return refusal ? { ...refusal, at: refusal.at.toISOString() } : null
}
