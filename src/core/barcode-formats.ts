/** A barcode format: its names in wallets, browsers, and libraries, and the rules for its messages. */
interface FormatFacts {
  apple: string
  google: string
  /** The name of the format in the Barcode Detection API of browsers. */
  browser: string
  zxing: string
  bwip: string
  name: string
  /** The name of the format for screen readers. Default: `name`, followed by "barcode". */
  spoken?: string
  /** A square matrix, a wide matrix, or lines. Pages size a code by its shape. */
  shape: 'square' | 'wide' | 'linear'
  /** The required margin around a matrix code, or on both sides of a linear code, in modules. */
  quietZone: number
  /** Whether a design must set a message, because the format cannot encode the default message, `pass.scanCode`. */
  needsMessage: boolean
  /** The format to show instead in a wallet that does not support this format, such as Wallet on iOS 26. */
  fallback?: 'qr'
  /** A pattern of unsupported characters (`of`), and a phrase that lists the supported characters. */
  foreign?: { of: RegExp; supports: string }
  /** The capacities of the largest symbol. The first entry whose pattern `of` matches the message applies. */
  capacities: readonly Capacity[]
  /** Returns why a message is invalid, as a phrase to follow "It", such as "has 12 digits, and …". */
  findProblem?: (message: string) => string | undefined
  /** A further rule of Google Wallet: `fits` checks a message, and `what` is a phrase for messages that fit. */
  googleNeeds?: { fits: (message: string) => boolean; what: string }
  /** Returns the messages that a scanner can read as this payload. They can include the payload itself. */
  messagesOf?: (payload: string) => string[]
  /** Returns the text to encode for a message. If omitted, the message itself is encoded. */
  toDrawn?: (message: string) => string
  /** A valid message. Omitted if any text is valid. */
  sample?: string
}

interface Capacity {
  of: RegExp
  what: string
  max: number
}

const DIGITS = /^[0-9]*$/
const QR_TEXT = /^[0-9A-Z $%*+./:-]*$/
const PRINTABLE_ASCII = /^[\t\n\r -~]*$/
const LETTERS_OF_ONE_CASE = /^(?:[A-Z ]*|[a-z ]*)$/
const ANY = /^/

const ONLY_DIGITS = { of: /[^0-9]/u, supports: 'digits only' }

/**
 * The capacities of the matrix codes are from ISO/IEC 18004 (version 40, level L), 15438 (level 0), and 24778 (full
 * range, 23 % correction). The standards of the linear codes set no limits. The limits here keep a linear code within
 * 1,443 modules, the width of Code 128 with 128 characters. In a wider code, the thinnest bar would be narrower than a
 * pixel of any phone. A wide bar counts as three modules.
 */
const formats = {
  qr: {
    apple: 'PKBarcodeFormatQR',
    google: 'QR_CODE',
    browser: 'qr_code',
    zxing: 'QRCode',
    bwip: 'qrcode',
    name: 'QR code',
    spoken: 'QR code',
    shape: 'square',
    quietZone: 4,
    needsMessage: false,
    capacities: [
      { of: DIGITS, what: 'digits', max: 7089 },
      { of: QR_TEXT, what: 'characters', max: 4296 },
      { of: ANY, what: 'bytes', max: 2953 },
    ],
  },
  pdf417: {
    apple: 'PKBarcodeFormatPDF417',
    google: 'PDF_417',
    browser: 'pdf417',
    zxing: 'PDF417',
    bwip: 'pdf417',
    name: 'PDF417',
    shape: 'wide',
    quietZone: 2,
    needsMessage: false,
    capacities: [
      { of: DIGITS, what: 'digits', max: 2710 },
      { of: PRINTABLE_ASCII, what: 'characters', max: 1850 },
      { of: ANY, what: 'bytes', max: 1108 },
    ],
  },
  aztec: {
    apple: 'PKBarcodeFormatAztec',
    google: 'AZTEC',
    browser: 'aztec',
    zxing: 'Aztec',
    bwip: 'azteccode',
    name: 'Aztec code',
    spoken: 'Aztec code',
    shape: 'square',
    quietZone: 2,
    needsMessage: false,
    capacities: [
      { of: DIGITS, what: 'digits', max: 3832 },
      { of: LETTERS_OF_ONE_CASE, what: 'letters', max: 3067 },
      { of: ANY, what: 'bytes', max: 1914 },
    ],
  },
  code128: {
    apple: 'PKBarcodeFormatCode128',
    google: 'CODE_128',
    browser: 'code_128',
    zxing: 'Code128',
    bwip: 'code128',
    name: 'Code 128',
    spoken: 'Barcode',
    shape: 'linear',
    quietZone: 10,
    needsMessage: false,
    foreign: { of: /[^\0-\x7f]/u, supports: 'ASCII only' },
    capacities: [
      { of: DIGITS, what: 'digits', max: 256 },
      { of: ANY, what: 'characters', max: 128 },
    ],
  },
  ean13: {
    apple: 'PKBarcodeFormatEAN13',
    google: 'EAN_13',
    browser: 'ean_13',
    zxing: 'EAN13',
    bwip: 'ean13',
    name: 'EAN-13',
    shape: 'linear',
    quietZone: 11,
    needsMessage: true,
    fallback: 'qr',
    foreign: ONLY_DIGITS,
    capacities: [{ of: ANY, what: 'digits', max: 13 }],
    findProblem: findGtinProblem,
    // An EAN-13 that starts with 0 has the same bars as a UPC-A. Many scanners therefore omit the 0, so add it.
    messagesOf: (payload) => (/^[0-9]{12}$/.test(payload) ? [`0${payload}`] : []),
    sample: '4006381333931',
  },
  code39: {
    apple: 'PKBarcodeFormatCode39',
    google: 'CODE_39',
    browser: 'code_39',
    // Do not use the full ASCII mode: it would read `+A` as `a`.
    zxing: 'Code39Std',
    bwip: 'code39',
    name: 'Code 39',
    shape: 'linear',
    quietZone: 10,
    needsMessage: false,
    fallback: 'qr',
    foreign: { of: /[^0-9A-Z $%+./-]/u, supports: 'digits, capital letters, spaces, and - . $ / + % only' },
    capacities: [{ of: ANY, what: 'characters', max: 88 }],
    // A scanner that acts as a keyboard can add the start and stop sign (*), and send capitals as small letters. Code
    // 39 has no small letters, so both changes can be undone.
    messagesOf: (payload) => [payload.replace(/^\*(.+)\*$/, '$1').toUpperCase()],
    sample: 'SAMPLE-1',
  },
  codabar: {
    apple: 'PKBarcodeFormatCodabar',
    google: 'CODABAR',
    browser: 'codabar',
    zxing: 'Codabar',
    bwip: 'rationalizedCodabar',
    name: 'Codabar',
    shape: 'linear',
    quietZone: 10,
    needsMessage: true,
    fallback: 'qr',
    foreign: { of: /[^0-9A-D$+./:-]/u, supports: 'digits, - $ : / . +, and A to D at its ends only' },
    capacities: [{ of: ANY, what: 'characters', max: 100 }],
    findProblem: (message) =>
      message === '' || /^(?:[0-9$+./:-]+|[A-D][0-9$+./:-]+[A-D])$/.test(message)
        ? undefined
        : 'must be digits or symbols, either alone or between two letters',
    messagesOf: codabarMessagesOf,
    // A Codabar symbol must start and end with a letter. If the message has none, add an A on both sides.
    toDrawn: (message) => (/^[A-D]/.test(message) ? message : `A${message}A`),
    sample: '123456',
  },
  itf: {
    apple: 'PKBarcodeFormatI2of5',
    google: 'ITF_14',
    browser: 'itf',
    zxing: 'ITF',
    bwip: 'interleaved2of5',
    name: 'ITF',
    shape: 'linear',
    quietZone: 10,
    needsMessage: true,
    fallback: 'qr',
    foreign: ONLY_DIGITS,
    capacities: [{ of: ANY, what: 'digits', max: 158 }],
    findProblem: (message) =>
      message.length % 2 === 0 ? undefined : `has ${message.length} digits, and itf needs an even number of them`,
    googleNeeds: {
      fits: (message) => message.length === 14 && checkDigitOf(message) === message.at(-1),
      what: '14 digits with a correct check digit',
    },
    sample: '10012345678902',
  },
} as const satisfies Record<string, FormatFacts>

export type BarcodeFormat = keyof typeof formats

export const barcodeFormats: { readonly [Format in BarcodeFormat]: FormatFacts & (typeof formats)[Format] } = formats

export const barcodeFormatNames = Object.keys(barcodeFormats) as [BarcodeFormat, ...BarcodeFormat[]]

/** Returns the format by its name in the API of a wallet. */
export function barcodeFormatOf(wallet: 'apple' | 'google', name: string | undefined): BarcodeFormat | undefined {
  return barcodeFormatNames.find((format) => barcodeFormats[format][wallet] === name)
}

/** Whether the message can be encoded in ISO 8859-1, the encoding that scanners expect. */
export function isLatin1(message: string): boolean {
  return !/[^\0-\xff]/u.test(message)
}

/** Returns the first unsupported character of a message. */
export function foreignCharacter(format: BarcodeFormat, message: string): string | undefined {
  return barcodeFormats[format].foreign?.of.exec(message)?.[0]
}

/**
 * Returns why no phone can draw the message in the format, as a phrase to follow "It". Returns `undefined` if a phone
 * can draw the message, or if the message is empty and the pass therefore has no barcode.
 */
export function findUndrawable(format: BarcodeFormat, message: string): string | undefined {
  return message === '' ? undefined : (findUnfitting(format, message) ?? barcodeFormats[format].findProblem?.(message))
}

/** Returns why a message of the format cannot contain the text, as a phrase to follow "It"; else `undefined`. */
export function findUnfitting(format: BarcodeFormat, text: string): string | undefined {
  const { foreign, capacities }: FormatFacts = barcodeFormats[format]
  const character = foreignCharacter(format, text)
  if (character !== undefined) return `holds ${JSON.stringify(character)}, and ${format} supports ${foreign!.supports}`
  const { what, max } = capacities.find(({ of }) => of.test(text))!
  const size = isLatin1(text) ? text.length : new TextEncoder().encode(text).length
  return size > max ? `has ${size} ${what}, and ${format} holds at most ${max}` : undefined
}

/**
 * Returns the format in which Google Wallet shows a message. If Google does not accept the message in the given format,
 * this is the fallback of the format.
 */
export function googleFormatOf(format: BarcodeFormat, message: string): BarcodeFormat {
  const { fallback, googleNeeds }: FormatFacts = barcodeFormats[format]
  return fallback !== undefined && googleNeeds && !googleNeeds.fits(message) ? fallback : format
}

/**
 * Returns the options with which bwip-js draws a message. They include the margin of a linear code: without it,
 * scanners do not find an ITF or Codabar code.
 */
export function drawnAs(format: BarcodeFormat, message: string): { bcid: string; text: string; paddingwidth?: number } {
  const { bwip, toDrawn, shape, quietZone }: FormatFacts = barcodeFormats[format]
  return { bcid: bwip, text: toDrawn?.(message) ?? message, ...(shape === 'linear' && { paddingwidth: quietZone }) }
}

/** A barcode that scanners can read as a payload other than its message. */
export interface BarcodeReading {
  format: BarcodeFormat
  message: string
}

/** Returns the barcodes that scanners can read as this payload, although their message differs. */
export function otherReadings(payload: string): BarcodeReading[] {
  return barcodeFormatNames.flatMap((format) => {
    const { messagesOf }: FormatFacts = barcodeFormats[format]
    const messages = new Set(messagesOf?.(payload))
    return [...messages].flatMap((message) =>
      message === payload || message === '' || findUndrawable(format, message) !== undefined
        ? []
        : [{ format, message }],
    )
  })
}

/** The formats in which the payload that a scanner sends can differ from the message. */
export const formatsWithReadings = barcodeFormatNames.filter((format) => barcodeFormats[format].messagesOf)

function findGtinProblem(message: string): string | undefined {
  if (message.length !== 13) return `has ${message.length} digits, and ean13 needs 13`
  const expected = checkDigitOf(message)
  return message.endsWith(expected) ? undefined : `ends with ${message.at(-1)}, but its check digit must be ${expected}`
}

/** Computes the check digit of a GS1 number. Ignores the last digit, which is the check digit as given. */
function checkDigitOf(digits: string): string {
  const weighted = [...digits.slice(0, -1)].reverse().map((digit, place) => Number(digit) * (place % 2 === 0 ? 3 : 1))
  return String((10 - (weighted.reduce((sum, value) => sum + value, 0) % 10)) % 10)
}

const CODABAR_LETTERS = ['A', 'B', 'C', 'D']

/** Returns the possible messages of a payload. Scanners can omit start and stop letters, or send them in lower case. */
function codabarMessagesOf(payload: string): string[] {
  const [, start, inside, stop] = /^([A-D]?)([0-9$+./:-]+)([A-D]?)$/i.exec(payload) ?? []
  if (inside === undefined) return []
  if (start && stop) return [payload.toUpperCase(), inside]
  if (start || stop) return []
  return CODABAR_LETTERS.flatMap((first) => CODABAR_LETTERS.map((last) => `${first}${inside}${last}`))
}
