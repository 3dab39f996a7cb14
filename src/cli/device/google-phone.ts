import { z } from 'zod'
import { CliError } from '../command/cli-error.ts'
import { type Answer, call, directoryOf, findSaveJwt, readDirectory } from './http.ts'
import {
  type CheckResult,
  type DeviceFile,
  type GoogleDevice,
  type GooglePass,
  newMessages,
  type PassChange,
  type Phone,
} from './phone-store.ts'

const View = z.object({
  kind: z.string(),
  object: z.looseObject({ id: z.string() }),
  class: z.looseObject({ id: z.string() }),
  version: z.number(),
})
type View = z.output<typeof View>

export function createGooglePhone(file: DeviceFile<GoogleDevice>): Phone {
  async function install(link: string): Promise<string> {
    const jwt = await findSaveJwt(link)
    const directory = directoryOf(link)
    const { url } = await readDirectory(directory, 'google')
    const { deviceId } = file.read()
    const answer = await call(`${url}/save`, { method: 'POST', json: { jwt, device: deviceId } })
    const view = viewOf(answer, 'save the pass')
    await file.update((device) => addPass(device, directory, view))
    return view.object.id
  }

  async function check(): Promise<CheckResult> {
    const changes: PassChange[] = []
    const problems: string[] = []
    for (const { directory, kind, objectId } of file.read().passes) {
      const { url } = await readDirectory(directory, 'google')
      const answer = await call(`${url}/objects/${kind}/${encodeURIComponent(objectId)}`)
      if (answer.status === 404) problems.push(`Google has no object ${objectId}`)
      else {
        const change = await take(viewOf(answer, 'read the pass'))
        if (change) changes.push(change)
      }
    }
    return { changes, problems }
  }

  /** Replaces the stored pass if the content is newer. Resolves to the visible change, if there is one. */
  async function take(view: View): Promise<PassChange | undefined> {
    let change: PassChange | undefined
    await file.update((device) => {
      const before = device.passes.find(({ objectId }) => objectId === view.object.id)
      if (!before || view.version <= before.version) return device
      const at = new Date().toISOString()
      const isChanged = shown(before) !== shown(view)
      if (isChanged) change = { pass: view.object.id, banners: newMessages(before, view, device.language), at }
      const after = { ...before, ...view, ...(isChanged && { updatedAt: at }) }
      return { ...device, passes: device.passes.map((pass) => (pass === before ? after : pass)) }
    })
    return change
  }

  async function remove(objectId: string): Promise<void> {
    const { deviceId, passes } = file.read()
    const pass = passes.find((candidate) => candidate.objectId === objectId)
    if (!pass) return
    const { url } = await readDirectory(pass.directory, 'google')
    const json = { kind: pass.kind, objectId, device: deviceId }
    const answer = await call(`${url}/remove`, { method: 'POST', json })
    // Treat 404 as success, because the object no longer exists at Google.
    if (answer.status !== 204 && answer.status !== 404) throw rejection(answer, 'remove the pass')
    await file.update((device) => ({ ...device, passes: device.passes.filter((other) => other.objectId !== objectId) }))
  }

  return {
    install,
    check,
    remove,
    sources() {
      const { deviceId, passes } = file.read()
      const directories = [...new Set(passes.map(({ directory }) => directory))]
      return directories.map((directory) => ({
        name: new URL(directory).origin,
        async locate() {
          const { url } = await readDirectory(directory, 'google')
          return `${url}/devices/${encodeURIComponent(deviceId)}/changes`
        },
      }))
    },
  }
}

function addPass(device: GoogleDevice, directory: string, view: View): GoogleDevice {
  if (device.passes.some(({ objectId }) => objectId === view.object.id)) return device
  const at = new Date().toISOString()
  const pass: GooglePass = { directory, objectId: view.object.id, ...view, installedAt: at, updatedAt: at }
  return { ...device, passes: [...device.passes, pass] }
}

function shown({ object, class: ofClass }: Pick<GooglePass, 'object' | 'class'>): string {
  const { hasUsers: _, ...visible } = object
  return JSON.stringify([visible, ofClass])
}

function viewOf(answer: Answer, what: string): View {
  const view = View.safeParse(answer.json)
  if (answer.status !== 200 || !view.success) throw rejection(answer, what)
  return view.data
}

const ErrorResponse = z.object({ error: z.union([z.string(), z.object({ message: z.string() })]) })

function rejection({ status, json }: Answer, what: string): CliError {
  const error = ErrorResponse.safeParse(json).data?.error
  const reason = typeof error === 'string' ? error : (error?.message ?? 'no reason was given')
  return new CliError(`Google did not let the phone ${what}: ${reason}`, {
    code: 'GOOGLE_REFUSED',
    details: { status },
  })
}
