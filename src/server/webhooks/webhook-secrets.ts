import { createSecretKey, type KeyObject } from 'node:crypto'
import type { ServerKeys } from '../../core/rules/crypto/server-key.ts'
import { isSealedUnder, seal, unlessLost, unseal } from '../../core/rules/crypto/server-key.ts'
import { newSecret } from '../../core/rules/crypto/signature.ts'
import type { Store } from '../../storage/store.ts'
import type { StoredWebhook } from '../../storage/webhooks/webhooks.ts'
import type { Logger } from '../log.ts'

/** Signing secrets: shown once, kept encrypted. */
export interface WebhookSecrets {
  /** A new secret, as it is shown and as it is stored for the webhook. */
  make(webhookId: string): { secret: string; sealed: string }
  /**
   * The keys that sign at a moment, that of the newest secret first.
   * @throws SealError
   */
  livingKeys(webhook: StoredWebhook, at: Date): KeyObject[]
  /**
   * Encrypts whatever is not under the current key anew, so that previous keys can be taken out of use. Secrets that none of the keys
   * opens stay as they are, and the log names their endpoint: its deliveries alone fail, until its secret is rotated.
   */
  reseal(store: Store, log: Pick<Logger, 'error'>): Promise<void>
}

/** Makes, seals and opens the secrets of endpoints with the server key: see WebhookSecrets. */
export function createWebhookSecrets({ current, previous }: ServerKeys): WebhookSecrets {
  const keys = [current, ...previous]
  const renewed = (sealed: string, id: string) =>
    isSealedUnder(sealed, current) ? sealed : seal(unseal(sealed, id, keys), id, current)
  return {
    make(webhookId) {
      const secret = newSecret()
      return { secret, sealed: seal(secret, webhookId, current) }
    },
    livingKeys({ id, secret, retiredSecrets }, at) {
      const living = retiredSecrets.filter(({ until }) => at < until)
      return [secret, ...living.map((retired) => retired.secret)].map((sealed) =>
        createSecretKey(unseal(sealed, id, keys), 'utf8'),
      )
    },
    async reseal(store, log) {
      const stale = (await store.webhooks.listSecrets()).filter(({ secrets: { secret, retiredSecrets } }) =>
        [secret, ...retiredSecrets.map((retired) => retired.secret)].some((sealed) => !isSealedUnder(sealed, current)),
      )
      for (const { id, secrets } of stale) {
        const anew = unlessLost(
          () => ({
            secret: renewed(secrets.secret, id),
            retiredSecrets: secrets.retiredSecrets.map(({ secret, until }) => ({ secret: renewed(secret, id), until })),
          }),
          (err) => log.error({ err, webhookId: id }, 'the secret of a webhook cannot be read: rotate it'),
        )
        if (anew) await store.transaction((tx) => tx.webhooks.replaceSecrets(id, secrets, anew))
      }
    },
  }
}
