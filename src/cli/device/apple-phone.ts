import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { CliError } from '../command/cli-error.ts'
import { type OpenedPackage, openPackage } from './apple-package.ts'
import { fieldsOf, type PassJson, posterFieldsOf, styleOf, toField } from './apple-pass-json.ts'
import { passIn } from './apple-strings.ts'
import { call, directoryOf, downloadPass, readDirectory } from './http.ts'
import { fetchPass, listChanged, postLog, register, unregister } from './passkit.ts'
import type { AppleAccount, AppleDevice, ApplePass, CheckResult, DeviceFile, PassChange, Phone } from './phone-store.ts'

/** Creates a virtual iPhone, which verifies packages, registers for pushes, and accepts only newer content. */
export function createApplePhone(file: DeviceFile<AppleDevice>): Phone {
  async function install(link: string): Promise<string> {
    const { archive } = await downloadPass(link)
    const directory = directoryOf(link)
    const { control, rootPem } = await readDirectory(directory, 'apple')
    const opened = openPackage(archive, rootPem, new Date())
    const { content } = opened
    const account = await openAccount(content, directory, control)
    await register(account, content)
    await file.update((device) => addPass(device, opened))
    // Fetch changes that were made between the download and the registration, because no push was sent for them.
    await refresh(account, [content.serialNumber])
    return content.serialNumber
  }

  /** Finds or creates the account of a pass type at one service. All passes of an account share its push token. */
  async function openAccount(content: PassJson, directory: string, control: string): Promise<AppleAccount> {
    const known = file.read().accounts.find((account) => isOf(account, content))
    if (known) return known
    const { passTypeIdentifier, webServiceURL } = content
    const pushToken = await newPushToken(control, passTypeIdentifier)
    const deviceId = randomBytes(16).toString('hex')
    const account = { passTypeIdentifier, webServiceURL, directory, deviceId, pushToken, updatedSince: null }
    await file.update((device) => ({ ...device, accounts: [...device.accounts, account] }))
    return account
  }

  async function check(): Promise<CheckResult> {
    const results = await Promise.all(accountsInUse(file.read()).map(checkAccount))
    return {
      changes: results.flatMap(({ changes }) => changes),
      problems: results.flatMap(({ problems }) => problems),
    }
  }

  async function checkAccount(account: AppleAccount): Promise<CheckResult> {
    const changed = await listChanged(account)
    if (!changed) return { changes: [], problems: [] }
    const { serialNumbers, lastUpdated } = changed
    if (lastUpdated === account.updatedSince) {
      const count = serialNumbers.length
      const message = `Response to 'What changed?' request included ${count} serial numbers but the lastUpdated tag (${lastUpdated}) remained the same.`
      await postLog(account, message)
      return { changes: [], problems: [message] }
    }
    const result = await refresh(account, serialNumbers)
    // Store the new update tag only if all fetches succeed, so that the service lists failed passes again at the next
    // check.
    if (result.problems.length === 0) {
      await file.update((device) => ({
        ...device,
        accounts: device.accounts.map((other) =>
          other.deviceId === account.deviceId ? { ...other, updatedSince: lastUpdated } : other,
        ),
      }))
    }
    return result
  }

  async function refresh(account: AppleAccount, serialNumbers: string[]): Promise<CheckResult> {
    const { rootPem } = await readDirectory(account.directory, 'apple')
    const held = file.read().passes.filter(({ content }) => isOf(account, content))
    const changes: PassChange[] = []
    const problems: string[] = []
    for (const pass of held.filter(({ content }) => serialNumbers.includes(content.serialNumber))) {
      const fetched = await fetchPass(pass.content, pass.lastModified)
      if (fetched.outcome === 'unchanged') continue
      try {
        if (fetched.outcome === 'refused') throw new CliError(fetched.reason, { code: 'PASS_REFUSED' })
        const opened = openPackage(fetched.archive, rootPem, new Date())
        const change = await take(opened, fetched.lastModified)
        if (opened.content.webServiceURL !== pass.content.webServiceURL) await moveTo(opened.content)
        if (change) changes.push(change)
      } catch (error) {
        if (!(error instanceof CliError) || error.code !== 'PASS_REFUSED') throw error
        await postLog(account, error.message)
        problems.push(error.message)
      }
    }
    return { changes, problems }
  }

  /** Registers at the new service that a pass names. Stops polling the previous service. */
  async function moveTo(content: PassJson): Promise<void> {
    const directory = `${content.webServiceURL.replace(/\/apple$/, '')}/sandbox`
    const { control } = await readDirectory(directory, 'apple')
    await register(await openAccount(content, directory, control), content)
    // Forget `Last-Modified` of the previous service, because it cannot be compared with the dates of the new service.
    await file.update((device) => ({
      ...device,
      passes: device.passes.map((pass) => (isSame(pass, content) ? { ...pass, lastModified: null } : pass)),
    }))
  }

  /** Replaces the pass if the content is newer; resolves to the visible change. */
  async function take(opened: OpenedPackage, lastModified: string): Promise<PassChange | undefined> {
    const { content } = opened
    let change: PassChange | undefined
    await file.update((device) => {
      const before = device.passes.find((pass) => isSame(pass, content))
      if (!before || !isNewer(lastModified, before.lastModified)) return device
      const at = new Date().toISOString()
      const isChanged = !isDeepStrictEqual({ content: before.content, strings: before.strings }, opened)
      const { language } = device
      if (isChanged) change = { pass: content.serialNumber, banners: bannersOf(before, opened, language), at }
      const after = { ...before, ...opened, lastModified, ...(isChanged && { updatedAt: at }) }
      return { ...device, passes: device.passes.map((pass) => (pass === before ? after : pass)) }
    })
    return change
  }

  async function remove(serialNumber: string): Promise<void> {
    const { accounts, passes } = file.read()
    const pass = passes.find(({ content }) => content.serialNumber === serialNumber)
    const account = pass && accounts.find((candidate) => isOf(candidate, pass.content))
    if (!pass || !account) return
    await unregister(account, pass.content)
    await file.update((device) => ({
      ...device,
      passes: device.passes.filter((other) => !isSame(other, pass.content)),
    }))
  }

  return {
    install,
    check,
    remove,
    sources: () =>
      accountsInUse(file.read()).map(({ webServiceURL, directory, pushToken }) => ({
        name: webServiceURL,
        async locate() {
          const { control } = await readDirectory(directory, 'apple')
          return `${control}/tokens/${pushToken}/pushes`
        },
      })),
  }
}

/** Adds a pass. If it is already installed, keeps the installed version, which can be newer than the file. */
function addPass(device: AppleDevice, opened: OpenedPackage): AppleDevice {
  if (device.passes.some((pass) => isSame(pass, opened.content))) return device
  const at = new Date().toISOString()
  const pass: ApplePass = { ...opened, lastModified: null, installedAt: at, updatedAt: at }
  return { ...device, passes: [...device.passes, pass] }
}

function accountsInUse({ accounts, passes }: AppleDevice): AppleAccount[] {
  return accounts.filter((account) => passes.some(({ content }) => isOf(account, content)))
}

async function newPushToken(control: string, topic: string): Promise<string> {
  const answer = await call(`${control}/tokens`, { method: 'POST', json: { topic } })
  return z.object({ token: z.string() }).parse(answer.json).token
}

function isOf(account: AppleAccount, content: PassJson): boolean {
  return account.webServiceURL === content.webServiceURL && account.passTypeIdentifier === content.passTypeIdentifier
}

function isSame({ content }: ApplePass, other: PassJson): boolean {
  return content.serialNumber === other.serialNumber && content.passTypeIdentifier === other.passTypeIdentifier
}

function isNewer(lastModified: string, than: string | null): boolean {
  return than === null || Date.parse(lastModified) > Date.parse(than)
}

/** Returns a lock screen text per changed field with a `changeMessage`; only one if the poster repeats the field. */
function bannersOf(before: OpenedPackage, after: OpenedPackage, language: string): string[] {
  const fieldsIn = (opened: OpenedPackage) => {
    const pass = passIn(opened, language)
    const fields = [...fieldsOf(styleOf(pass)), ...posterFieldsOf(pass)]
    return [...new Map(fields.map((field) => [field.key, field])).values()]
  }
  const old = new Map(fieldsIn(before).map(({ key, value }) => [key, value]))
  return fieldsIn(after).flatMap((field) => {
    const { key, value, changeMessage } = field
    if (changeMessage === undefined || old.get(key) === value) return []
    return [changeMessage.replaceAll('%@', () => toField(field, language).value)]
  })
}
