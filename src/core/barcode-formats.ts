/** The names of each barcode format: in definitions, in wallets, and in the libraries that read and draw barcodes. */
export const barcodeFormats = {
  qr: { apple: 'PKBarcodeFormatQR', google: 'QR_CODE', browser: 'qr_code', zxing: 'QRCode', bwip: 'qrcode' },
  pdf417: { apple: 'PKBarcodeFormatPDF417', google: 'PDF_417', browser: 'pdf417', zxing: 'PDF417', bwip: 'pdf417' },
  aztec: { apple: 'PKBarcodeFormatAztec', google: 'AZTEC', browser: 'aztec', zxing: 'Aztec', bwip: 'azteccode' },
  code128: {
    apple: 'PKBarcodeFormatCode128',
    google: 'CODE_128',
    browser: 'code_128',
    zxing: 'Code128',
    bwip: 'code128',
  },
} as const

export type BarcodeFormat = keyof typeof barcodeFormats

export const barcodeFormatNames = Object.keys(barcodeFormats) as [BarcodeFormat, ...BarcodeFormat[]]

/** Returns the format with a name in a wallet. */
export function barcodeFormatOf(wallet: 'apple' | 'google', name: string | undefined): BarcodeFormat | undefined {
  return barcodeFormatNames.find((format) => barcodeFormats[format][wallet] === name)
}
