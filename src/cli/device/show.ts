import { drawCard, type PictureOptions } from '../card/picture.ts'
import { printable } from '../command/output.ts'
import { appleFace } from './apple/face.ts'
import type { Face } from './face.ts'
import { googleFace } from './google/face.ts'
import type { PassChange } from './phone.ts'
import type { Device } from './state.ts'

/** All passes of a phone, drawn; of those that `only` names where it is given. */
export async function drawDevice(device: Device, options: PictureOptions, only?: ReadonlySet<string>): Promise<string> {
  const faces = facesOf(device).filter(({ id }) => only === undefined || only.has(id))
  if (faces.length === 0) return `${device.name} holds no pass.`
  const ofPhone = { ...options, platform: device.platform }
  return (await Promise.all(faces.map((face) => drawFace(face, ofPhone)))).join('\n\n')
}

/** What scripts get of a phone: its passes, and not the secrets with which it registers. */
export function describeDevice(device: Device) {
  const { name, platform } = device
  if (device.platform === 'apple') {
    const passes = device.passes.map(({ content: { authenticationToken: _, ...content }, ...times }) => {
      return { pass: content.serialNumber, ...times, content }
    })
    return { name, platform, passes }
  }
  const passes = device.passes.map(({ objectId, directory: _, ...pass }) => ({ pass: objectId, ...pass }))
  return { name, platform, passes }
}

/** An update as the lock screen shows it, under the name of the organization; one without a banner happens in silence. */
export function bannerLines(device: Device, { pass, banners }: PassChange): string {
  const texts = banners.length > 0 ? banners : ['(updated in silence)']
  return [titleOf(device, pass), ...texts].map((text) => `▌ ${printable(text)}`).join('\n')
}

async function drawFace({ card, stamp }: Face, options: PictureOptions): Promise<string> {
  const picture = await drawCard(card, options)
  return stamp === null ? picture : `*** ${printable(stamp)} ***\n${picture}`
}

function titleOf(device: Device, id: string): string {
  return facesOf(device).find((face) => face.id === id)?.card.organizationName ?? ''
}

function facesOf(device: Device): Face[] {
  return device.platform === 'apple'
    ? device.passes.map(({ content }) => appleFace(content, new Date()))
    : device.passes.map(googleFace)
}
