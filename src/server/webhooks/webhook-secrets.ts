import { createSecretKey, type KeyObject } from 'node:crypto'
import type { ServerKeys } from '../../core/rules/crypto/server-key.ts'
import { isSealedUnder, seal, unlessLost, unseal } from '../../core/rules/crypto/server-key.ts'
import { newSecret } from '../../core/rules/crypto/signature.ts'
import type { Store } from '../../storage/store.ts'
import type { StoredWebhook } from '../../storage/webhooks/webhooks-repository.ts'
import type { Logger } from '../log.ts'

export type WebhookSecrets = ReturnType<typeof createWebhookSecrets>

/** Creates and opens signing secrets, which are shown once and stored encrypted. */
export function createWebhookSecrets({ current, previous }: ServerKeys) {
  const keys = [current, ...previous]
  const renewed = (sealed: string, id: string) =>
    isSealedUnder(sealed, current) ? sealed : seal(unseal(sealed, id, keys), id, current)
  return {
    make(webhookId: string) {
      const secret = newSecret()
      return { secret, sealed: seal(secret, webhookId, current) }
    },
    /** Returns the keys that sign a delivery at a given time, the newest key first. @throws SealError */
    livingKeys({ id, secret, retiredSecrets }: StoredWebhook, at: Date): KeyObject[] {
      const living = retiredSecrets.filter(({ until }) => at < until)
      return [secret, ...living.map((retired) => retired.secret)].map((sealed) =>
        createSecretKey(unseal(sealed, id, keys), 'utf8'),
      )
    },
    /**
     * Encrypts secrets of previous server keys again under the current one, so that previous keys can be retired.
     * Secrets that cannot be decrypted stay unchanged, and the log names their webhooks: deliveries to these webhooks
     * fail until their secrets are rotated.
     */
    async reseal(store: Store, log: Pick<Logger, 'error'>): Promise<void> {
      const stale = (await store.webhooks.listSecrets()).filter(({ secrets: { secret, retiredSecrets } }) =>
        [secret, ...retiredSecrets.map((retired) => retired.secret)].some((sealed) => !isSealedUnder(sealed, current)),
      )
      for (const { id, secrets } of stale) {
        const resealed = unlessLost(
          () => ({
            secret: renewed(secrets.secret, id),
            retiredSecrets: secrets.retiredSecrets.map(({ secret, until }) => ({ secret: renewed(secret, id), until })),
          }),
          (err) => log.error({ err, webhookId: id }, 'the secret of a webhook cannot be read: rotate the secret'),
        )
        if (resealed) await store.transaction((tx) => tx.webhooks.replaceSecrets(id, secrets, resealed))
      }
    },
  }
}
