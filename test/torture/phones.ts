import { batchOf, publishTemplate } from '../e2e/support/passes.ts'
import { listenForPushes, newPhone, saveOnAndroid, type TestPhone } from '../e2e/support/phone.ts'
import type { ServerProcess } from '../e2e/support/server.ts'
import type { Arena } from './arena.ts'

/** An issued pass on an iPhone, and possibly on an Android phone. */
export interface HeldPass {
  id: string
  phone: TestPhone
  pushes(): number
  /** Returns the IDs of the messages that Google shows. `undefined` if no Android phone has the pass. */
  googleMessages?(): Promise<string[]>
}

/** Creates issued passes, each on its own iPhone, the first ones also on an Android phone. A worker must be running. */
export async function holdPasses(
  arena: Arena,
  api: ServerProcess,
  counts: { passes: number; onGoogle: number },
): Promise<HeldPass[]> {
  const templateId = await publishTemplate(api.client)
  const passes = batchOf(templateId, 'held', counts.passes)
  await api.client.passes.createBatch({ body: { passes } })
  const list = () => api.client.passes.list({ query: { templateId: [templateId], status: ['ISSUED'], limit: 100 } })
  await arena.waitUntil('passes are issued', 30, async () => (await list()).total === counts.passes)
  const held: HeldPass[] = []
  for (const { id, hostedLinks } of (await list()).items) {
    const phone = await newPhone(api, id, `device-${id}`)
    const status = await phone.register(api)
    if (status !== 201) throw new Error(`A phone was registered with ${status}`)
    const { count: pushes } = await listenForPushes(api, phone, arena.cleanUp)
    const onGoogle = held.length < counts.onGoogle ? await saveOnAndroid(api, hostedLinks.google!) : undefined
    const googleMessages = async () => (await onGoogle!.look()).object.messages?.map((message) => message.id) ?? []
    held.push({ id, phone, pushes, ...(onGoogle && { googleMessages }) })
  }
  return held
}
