import { onTestFinished } from 'vitest'
import { fieldsOf, styleOf, toField } from '../../../src/cli/device/apple-pass-json.ts'
import { passIn } from '../../../src/cli/device/apple-strings.ts'
import type { Device, DeviceFile } from '../../../src/cli/device/phone-store.ts'
import { deviceFor, devicePlatforms, phoneOf, watch } from '../../../src/cli/device/phones.ts'
import type { CardField } from '../../../src/core/rules/display/card.ts'
import { readGoogleView } from '../../../src/core/rules/display/google-view.ts'
import { temporaryFolder } from '../../support/databases.ts'

/** An iPhone and an Android phone of one holder, which follow their pushes until the test ends. */
export interface WatchedPhones {
  /** The files of the iPhone and of the Android phone. */
  files: DeviceFile[]
  /** The texts that the lock screen of the iPhone showed. */
  banners: string[]
}

/** @param linkOf returns the link of a platform */
export async function installOnBoth(
  linkOf: (platform: (typeof devicePlatforms)[number]) => Promise<string>,
  language: string,
): Promise<WatchedPhones> {
  const folder = temporaryFolder()
  const banners: string[] = []
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const files = await Promise.all(
    devicePlatforms.map(async (platform) => {
      const file = deviceFor(folder, platform)
      await file.update((device) => ({ ...device, language }))
      await phoneOf(file).install(await linkOf(platform))
      await new Promise<void>((resolve, reject) => {
        const watching = watch(phoneOf(file), {
          signal: stop.signal,
          onEvent(event) {
            if (event.event === 'listening') resolve()
            else if (event.event === 'change') banners.push(...event.banners)
            else reject(new Error(event.message))
          },
        })
        watching.catch(reject)
      })
      return file
    }),
  )
  return { files, banners }
}

/** The only pass of a phone, as its holder sees it. */
export interface ShownCard {
  isValid: boolean
  /** The message of the barcode. */
  code: string
  /** The fields, front first. */
  fields: [label: string, value: string][]
}

export function cardOn(device: Device): ShownCard {
  const { language } = device
  const listed = (fields: CardField[]) => fields.map(({ label, value }): [string, string] => [label, value])
  if (device.platform === 'google') {
    const { class: ofClass, object } = device.passes[0]!
    const { rows, details, state, barcode } = readGoogleView(ofClass, object, language)
    return { isValid: state === 'ACTIVE', code: barcode.message, fields: listed([...rows.flat(), ...details]) }
  }
  const pass = passIn(device.passes[0]!, language)
  const fields = fieldsOf(styleOf(pass)).map((field) => toField(field, language))
  return { isValid: !pass.voided, code: pass.barcodes[0]!.message, fields: listed(fields) }
}
