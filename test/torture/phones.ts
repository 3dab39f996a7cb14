import { findSaveJwt } from '../../src/cli/device/http.ts'
import { batchOf, publishTemplate } from '../e2e/support/passes.ts'
import { listenForPushes, newPhone, type TestPhone } from '../e2e/support/phone.ts'
import type { ServerProcess } from '../e2e/support/server.ts'
import type { Arena } from './arena.ts'

/** An issued pass that an iPhone holds, and maybe an Android phone. */
export interface HeldPass {
  id: string
  phone: TestPhone
  pushes(): number
  /** Ids of the messages that Google shows; undefined where no Android phone holds it. */
  googleMessages?(): Promise<string[]>
}

/** Issued passes, each on a phone of its own, the first ones on an Android phone, too. A worker must be running. */
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
    const googleMessages = held.length < counts.onGoogle && (await save(api, hostedLinks.google!))
    held.push({ id, phone, pushes, ...(googleMessages && { googleMessages }) })
  }
  return held
}

/** As an Android phone does; returns how to look at what Google then shows. */
async function save({ url }: ServerProcess, link: string): Promise<() => Promise<string[]>> {
  const { google } = (await (await fetch(`${url}/sandbox`)).json()) as { google: { url: string } }
  const jwt = await findSaveJwt(link)
  const body = JSON.stringify({ jwt, device: 'android' })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${google.url}/save`, { method: 'POST', headers, body })
  const { kind, object } = (await answer.json()) as { kind: string; object: { id: string } }
  return async () => {
    const view = await fetch(`${google.url}/objects/${kind}/${encodeURIComponent(object.id)}`)
    const { messages = [] } = ((await view.json()) as { object: { messages?: { id: string }[] } }).object
    return messages.map(({ id }) => id)
  }
}
