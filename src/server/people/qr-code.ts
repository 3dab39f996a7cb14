import { z } from 'zod'
import { route } from '../../core/contract/schemas/common.ts'
import { ApiError } from '../../core/errors.ts'
import type { Handler, PageRoute } from '../http/mount.ts'
import { barcodeSvg, drawAhead } from '../pages/card/symbols.ts'
import { deskPath } from '../pages/scripted-pages.ts'

/** The route that draws the QR code of a link on the desk. The body contains the link, because the link is secret. */
const qrRoute = route('POST', `${deskPath}/qr`, {
  scope: null,
  summary: 'Draw the QR code of a link',
  body: z.strictObject({ text: z.string().min(1).max(500) }),
  responses: { 200: z.strictObject({ svg: z.string() }) },
})

const drawQr: Handler<typeof qrRoute> = async ({ body: { text } }) => {
  await drawAhead([{ format: 'qr', message: text }])
  const svg = barcodeSvg('qr', text)
  if (svg === undefined) throw new ApiError('INVALID_INPUT', { message: 'The text does not fit in a QR code.' })
  return { svg }
}

export const qrCode = { route: qrRoute, handler: drawQr } as unknown as PageRoute
