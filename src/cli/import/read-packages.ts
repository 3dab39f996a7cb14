import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { PassType } from '../../core/contract/schemas/definition.ts'
import { parseJson } from '../../core/json.ts'
import { unzip } from '../device/apple-package.ts'
import { fieldGroups } from '../device/apple-pass-json.ts'

/**
 * `ForeignPass` is the schema of a pass.json from any provider. Only `serialNumber` and `passTypeIdentifier` must be
 * valid: other invalid values are treated as missing.
 */
const text = z.string().min(1).optional().catch(undefined)
const Field = z.looseObject({ key: z.string(), value: z.union([z.string(), z.number()]) })
const Fields = z
  .array(z.unknown())
  .catch([])
  .transform((fields) => fields.flatMap((field) => Field.safeParse(field).data ?? []))
const Style = z.record(z.string(), z.unknown())
const Barcode = z
  .looseObject({ message: z.string().min(1) })
  .optional()
  .catch(undefined)
const ForeignPass = z.looseObject({
  serialNumber: z.string().min(1),
  passTypeIdentifier: z.string().min(1),
  authenticationToken: text,
  webServiceURL: text,
  barcodes: z.array(Barcode).catch([]).default([]),
  barcode: Barcode,
  voided: z.boolean().catch(false).default(false),
})

export const packageColumns = [
  'externalPassId',
  'label',
  'serialNumber',
  'passTypeIdentifier',
  'authenticationToken',
  'scanPayload',
  'status',
] as const

interface PackageRow {
  own: Record<(typeof packageColumns)[number], string>
  /** The field values, by column name (see `columnOf`). */
  fields: Map<string, string>
  webServiceUrl: string | undefined
}

/** Reads the packages in the order of their names. */
export async function* readPackages(
  folder: string,
): AsyncGenerator<{ file: string } & ({ row: PackageRow } | { error: string })> {
  const files = (await readdir(folder)).filter((name) => name.toLowerCase().endsWith('.pkpass')).sort()
  for (const file of files) {
    try {
      const archive = unzip(await readFile(join(folder, file)))
      const parsed = ForeignPass.safeParse(parseJson(archive.get('pass.json')?.toString() ?? ''))
      if (parsed.success) yield { file, row: toRow(parsed.data) }
      else yield { file, error: 'holds no pass.json with a serialNumber and a passTypeIdentifier' }
    } catch (error) {
      yield { file, error: (error as Error).message }
    }
  }
}

function toRow(pass: z.output<typeof ForeignPass>): PackageRow {
  // Read the poster of iOS 27 too, because a pass of another provider can have only the poster.
  const styles = [...PassType.options, 'posterGeneric'].map((name) => Style.safeParse(pass[name]).data)
  const style: Record<string, unknown> = styles.find((one) => one !== undefined) ?? {}
  const fieldsOf = (group: (typeof fieldGroups)[number]) => Fields.parse(style[group])
  const fields = fieldGroups.flatMap(fieldsOf)
  const [primary] = fieldsOf('primaryFields')
  const { serialNumber, passTypeIdentifier, authenticationToken = '', webServiceURL } = pass
  const barcode = pass.barcodes.find((one) => one !== undefined) ?? pass.barcode
  return {
    own: {
      externalPassId: serialNumber,
      label: String(primary?.value || serialNumber),
      serialNumber,
      passTypeIdentifier,
      authenticationToken,
      scanPayload: barcode?.message ?? '',
      status: pass.voided ? 'VOID' : 'ISSUED',
    },
    fields: new Map(fields.map(({ key, value }) => [columnOf(key), String(value)])),
    webServiceUrl: webServiceURL,
  }
}

/** Returns a column name for a field key: without dots, and different from the pass's own columns. */
export function columnOf(key: string): string {
  const name = key.replaceAll('.', '_')
  return reserved.has(name.toLowerCase()) ? `field_${name}` : name
}

const reserved = new Set(
  [...packageColumns, 'googleObjectId', 'devices', 'template', 'groupKey', 'error'].map((name) => name.toLowerCase()),
)
