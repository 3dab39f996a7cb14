import type { BarcodeFormat } from '../../../core/contract/definition.ts'
import { PassType } from '../../../core/contract/definition.ts'
import type { CardField } from '../../../core/rules/display/card.ts'
import { parseRgb } from '../../../core/rules/display/colors.ts'
import { type Face, notShown } from '../face.ts'
import { type PassField, type PassJson, styleOf } from './pass-json.ts'

/** A pass as Wallet on an iPhone shows it. */
export function appleFace(pass: PassJson, at: Date): Face {
  const style = styleOf(pass)
  const [barcode] = pass.barcodes
  return {
    id: pass.serialNumber,
    card: {
      ...notShown,
      passType: PassType.options.find((type) => pass[type] !== undefined)!,
      organizationName: pass.organizationName,
      description: pass.description,
      logoText: pass.logoText ?? null,
      colors: {
        background: parseRgb(pass.backgroundColor),
        foreground: parseRgb(pass.foregroundColor),
        label: parseRgb(pass.labelColor),
      },
      fields: {
        header: style.headerFields.map(toField),
        primary: style.primaryFields.map(toField),
        secondary: style.secondaryFields.map(toField),
        auxiliary: style.auxiliaryFields.map(toField),
        back: style.backFields.map(toField),
      },
      barcode: {
        format: barcode ? formats[barcode.format] : 'qr',
        message: barcode?.message ?? '',
        altText: barcode?.altText ?? null,
      },
      links: [],
      expiresAt: pass.expirationDate ?? null,
      voided: pass.voided ?? false,
    },
    stamp: stampOf(pass, at),
  }
}

const formats: Record<PassJson['barcodes'][number]['format'], BarcodeFormat> = {
  PKBarcodeFormatQR: 'qr',
  PKBarcodeFormatPDF417: 'pdf417',
  PKBarcodeFormatAztec: 'aztec',
  PKBarcodeFormatCode128: 'code128',
}

function stampOf({ voided, expirationDate }: PassJson, at: Date): string | null {
  if (voided) return 'VOID'
  return expirationDate !== undefined && new Date(expirationDate) <= at ? 'EXPIRED' : null
}

function toField({ key, label = '', value }: PassField): CardField {
  return { key, label, value: String(value) }
}
