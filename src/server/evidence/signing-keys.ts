import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { ServerKeys } from '../../core/rules/crypto/server-key.ts'
import { isSealedUnder, seal, unlessLost, unseal } from '../../core/rules/crypto/server-key.ts'
import { type Head, isSameDigest, isSameHead, isSignedBy, signHead } from '../../core/rules/evidence/chain.ts'
import type { SignedHead } from '../../core/rules/evidence/verification.ts'
import type { Repositories, Store } from '../../storage/store.ts'
import type { Logger } from '../log.ts'

export type SigningKeys = ReturnType<typeof createSigningKeys>

interface KeyPair {
  privateKey: KeyObject
  publicKey: KeyObject
}

const MAX_KEPT = 10_000

/** Creates the keys that sign the heads (ends) of chains. Each workspace has a key, which is stored encrypted. */
export function createSigningKeys({ current, previous }: ServerKeys) {
  const keys = [current, ...previous]
  const opened = new Map<string, KeyPair>()
  // The heads that this process last signed. Comparing a head with the last signed head is as safe as verifying its
  // signature, and faster.
  const signed = new Map<string, SignedHead>()

  async function open(tx: Repositories, workspaceId: string): Promise<KeyPair> {
    const known = opened.get(workspaceId)
    if (known) return known
    const { publicKey, sealedKey } =
      (await tx.chainHeads.findKeys(workspaceId)) ??
      (await tx.chainHeads.insertKeys(workspaceId, make(workspaceId, current)))
    const privateKey = createPrivateKey(unseal(sealedKey, rowOf(workspaceId), keys))
    const pair = { privateKey, publicKey: createPublicKey(publicKey) }
    if (opened.size >= MAX_KEPT) opened.clear()
    opened.set(workspaceId, pair)
    return pair
  }

  return {
    /** Returns the head with its signature. Creates the key of the workspace if it has none. @throws SealError */
    async sign(tx: Repositories, head: Head): Promise<SignedHead> {
      const { privateKey } = await open(tx, head.workspaceId)
      const one = { ...head, signature: signHead(head, privateKey) }
      if (signed.size >= MAX_KEPT) signed.clear()
      signed.set(nameOf(head), one)
      return one
    },
    /**
     * Whether the signature of a head is valid. A head without a signature is valid only while the workspace has no
     * key, so that an attacker cannot replace a chain with a new one.
     * @throws SealError
     */
    async isSound(tx: Repositories, head: SignedHead): Promise<boolean> {
      if (head.signature.length === 0) return (await tx.chainHeads.findKeys(head.workspaceId)) === undefined
      const last = signed.get(nameOf(head))
      if (last && isSameHead(last, head) && isSameDigest(last.signature, head.signature)) return true
      const { publicKey } = await open(tx, head.workspaceId)
      return isSignedBy(head, head.signature, publicKey)
    },
    /**
     * Encrypts the keys again under the current server key, so that previous server keys can be retired. A key that
     * cannot be decrypted stays unchanged and is logged, so that a server can still start.
     */
    async reseal(store: Store, log: Pick<Logger, 'error'>): Promise<void> {
      for (const { workspaceId, sealedKey } of await store.chainHeads.listKeys()) {
        if (isSealedUnder(sealedKey, current)) continue
        const row = rowOf(workspaceId)
        const renewed = unlessLost(
          () => seal(unseal(sealedKey, row, keys), row, current),
          (err) => log.error({ err, workspaceId }, 'the key that signs the chains of a workspace cannot be read'),
        )
        if (renewed !== undefined) await store.transaction((tx) => tx.chainHeads.resealKey(workspaceId, renewed))
      }
    },
  }
}

export function nameOf({ workspaceId, chain }: Pick<Head, 'workspaceId' | 'chain'>): string {
  return `${workspaceId} ${chain}`
}

function make(workspaceId: string, serverKey: Uint8Array): { publicKey: string; sealedKey: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const secret = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return {
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    sealedKey: seal(secret, rowOf(workspaceId), serverKey),
  }
}

/** Returns the name of the row to which a sealed key is bound: in another row, the key cannot be decrypted. */
function rowOf(workspaceId: string): string {
  return `chain-key/${workspaceId}`
}
