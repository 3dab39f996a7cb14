import type { PassType } from '../../../core/contract/definition.ts'
import { readGoogleView } from '../../../core/rules/display/google-view.ts'
import { type Face, notShown } from '../face.ts'
import type { GooglePass } from '../state.ts'
import { messagesOf } from './messages.ts'

/** A pass as Google Wallet shows it: on the front stand the rows that the class names. */
export function googleFace({ objectId, kind, object, class: ofClass }: GooglePass): Face {
  const { name, title, subtitle, background, rows, details, links, barcode, state } = readGoogleView(ofClass, object)
  const [first = [], ...others] = rows
  return {
    id: objectId,
    card: {
      ...notShown,
      passType: passTypes.get(kind) ?? 'generic',
      organizationName: name,
      description: title ?? name,
      logoText: null,
      colors: { background, foreground: null, label: null },
      fields: {
        header: [],
        primary: title === null ? [] : [{ key: 'header', label: subtitle ?? '', value: title }],
        secondary: first,
        auxiliary: others.flat(),
        back: [
          ...details,
          ...messagesOf(object).map(({ header, body }, n) => ({ key: `message-${n}`, label: header, value: body })),
        ],
      },
      barcode,
      links,
      expiresAt: null,
      voided: state === 'INACTIVE',
    },
    stamp: state === 'ACTIVE' ? null : state,
  }
}

const passTypes = new Map<string, PassType>([
  ['eventTicket', 'eventTicket'],
  ['loyalty', 'storeCard'],
  ['offer', 'coupon'],
  ['flight', 'boardingPass'],
  ['transit', 'boardingPass'],
])
