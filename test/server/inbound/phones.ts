import { afterAll, beforeAll } from 'vitest'
import { createApplePush } from '../../../src/wallets/apple/push.ts'
import { type SandboxApns, startSandboxApns } from '../../../src/wallets/sandbox/apple/apns-server.ts'
import { type Api, sandboxIdentities } from '../../support/api.ts'

let devices = 0

/** Phones of both platforms that hold passes of an app in this process. */
export interface Phones {
  apns: SandboxApns
  /** Registers a new device of Apple for a pass, and returns its push token. */
  addApple(workspaceId: string, passId: string): Promise<string>
  /** Saves the pass at Google. */
  addGoogle(workspaceId: string, passId: string): Promise<void>
  objectId(passId: string): string
  /** The messages that Google has of a pass. */
  messages(passId: string): Promise<{ id: string; header: string; body: string; messageType: string }[]>
}

/** Starts Apple's emulator for the tests of a block; to be called behind `useApi`. */
export function usePhones(api: Api): Phones {
  const phones = {} as Phones
  let close: () => Promise<void>
  beforeAll(async () => {
    const { apple, google, applePems } = sandboxIdentities()
    const apns = await startSandboxApns({
      serverCertificate: applePems.serverCertificatePem,
      serverKey: applePems.serverKeyPem,
      clientRoot: applePems.rootPem + applePems.wwdrPem,
      faults: api.faults,
    })
    const server = { address: apns.address, port: apns.port, ca: applePems.rootPem }
    const push = createApplePush({ identity: apple!, server })
    close = async () => {
      await push.close()
      await apns.close()
    }
    const { store } = Object.assign(api.services, { push })
    const objectId = (passId: string) => `${google!.issuerId}.${passId}-generic`
    Object.assign(phones, {
      apns,
      objectId,
      async addApple(workspaceId, passId) {
        devices += 1
        const pushToken = apns.newDeviceToken(apple!.passTypeIdentifier)
        const registration = { passId, deviceId: `device-${devices}`, pushToken }
        await store.transaction((tx) => tx.registrations.insert(workspaceId, registration, api.now))
        return pushToken
      },
      async addGoogle(workspaceId, passId) {
        const pass = (await store.passes.find(workspaceId, passId))!
        await api.services.google!.ensure(pass, api.now)
        await store.transaction((tx) => tx.googleObjects.addHolders(`${passId}-generic`, 1, api.now))
      },
      async messages(passId) {
        const object = await api.services.google!.api.getObject('generic', objectId(passId))
        return (object.messages ?? []) as Awaited<ReturnType<Phones['messages']>>
      },
    } satisfies Phones)
  })
  afterAll(() => close())
  return phones
}
