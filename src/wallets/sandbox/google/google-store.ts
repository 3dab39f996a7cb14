import { generateKeyPairSync } from 'node:crypto'
import { openJournal } from '../journal.ts'
import type { Resource, Role, SandboxKind } from './google-resources.ts'

/** A class or an object, with what Google knows of it besides. */
export interface StoredResource {
  kind: SandboxKind
  role: Role
  resource: Resource
  /** Grows with every change of anything. */
  version: number
  /** Of an object: the phones that hold it. */
  devices: string[]
  /** Of an object: when messages last made its phones ring, in milliseconds since 1970. */
  notifiedAt: number[]
}

type Entry = { put: StoredResource } | { rootKey: string }

/** All that the emulator for Google keeps. */
export interface GoogleStore {
  /** The key that vouches for callbacks, PKCS #8 in PEM: kept, since those who fetched it trust it for a while. */
  readonly rootKey: string
  find(kind: SandboxKind, role: Role, id: string): StoredResource | undefined
  /** The objects of a class. */
  listOfClass(kind: SandboxKind, classId: string): StoredResource[]
  /** Stores it under the id of its resource, with a new version. */
  put(entry: Omit<StoredResource, 'version'>): StoredResource
  close(): void
}

export function openGoogleStore(stateFile: string | undefined): GoogleStore {
  const resources = new Map<string, StoredResource>()
  let rootKey = ''
  let version = 0
  const journal = openJournal<Entry>(stateFile, (entries) => {
    for (const entry of entries) {
      if ('rootKey' in entry) rootKey = entry.rootKey
      else resources.set(keyOf(entry.put.kind, entry.put.role, entry.put.resource.id), entry.put)
    }
    version = Math.max(0, ...[...resources.values()].map((stored) => stored.version))
    rootKey ||= newRootKey()
    return [{ rootKey }, ...[...resources.values()].map((put) => ({ put }))]
  })

  return {
    rootKey,
    find: (kind, role, id) => resources.get(keyOf(kind, role, id)),
    listOfClass: (kind, classId) =>
      [...resources.values()].filter(
        (stored) => stored.kind === kind && stored.role === 'Object' && stored.resource.classId === classId,
      ),
    put(entry) {
      version += 1
      const put = { ...entry, version }
      journal.append({ put })
      resources.set(keyOf(put.kind, put.role, put.resource.id), put)
      return put
    },
    close: () => journal.close(),
  }
}

function keyOf(kind: SandboxKind, role: Role, id: string): string {
  return `${kind}${role} ${id}`
}

function newRootKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
}
