import type { Definition, PassType, Warning } from '../../../core/contract/definition.ts'
import type { PixelSize } from '../../../core/rules/display/lint.ts'
import { sampleScope } from '../../../core/rules/template/definition.ts'
import type { Scope } from '../../../core/rules/template/placeholder.ts'
import { buildPassJson } from '../../../wallets/apple/pass-json.ts'
import { buildClass } from '../../../wallets/google/classes.ts'
import { buildObject } from '../../../wallets/google/objects.ts'
import type { PreviewWallets } from '../card/preview.ts'
import { definitionWarnings, sizesByRole } from '../card/template-warnings.ts'

/** A template file as it was read, with all that it names. */
export interface DevContent {
  /** As people call it. */
  file: string
  name: string
  passType: PassType
  /** Its images stand as ids of `images`. */
  definition: Definition
  images: ReadonlyMap<string, DevImage>
  /** Holders to try it with, beside the sample. */
  holders: DevHolder[]
  /** What keeps it from being published. */
  problems: PlacedNote[]
}

/** An image that a template file names, as it is drawn: nothing of it is stored. */
export interface DevImage extends PixelSize {
  contentType: string
  bytes: Uint8Array
}

/** A holder out of the CSV file that a template is tried with. */
export interface DevHolder {
  externalPassId: string
  label: string
  /** Of a variable that is left out the default counts. */
  variables: Record<string, string>
}

/** Something to look at: line and column in the file, from 1, where they are known. */
export interface PlacedNote extends Pick<Warning, 'path' | 'message'> {
  code?: string
  line?: number
  column?: number
}

/** Nothing is signed or sent: what names an issuer may be anything. */
const identity = { passTypeIdentifier: 'pass.example.preview', teamIdentifier: 'PREVIEW000' }
const issuer = { issuerId: '3388000000000000000', publicUrl: 'https://passes.example' }

/** Both wallets without keys and accounts, as previews need them. */
export const previewWallets: PreviewWallets = {
  apple: { passJson: (pass) => buildPassJson(pass, identity, `${issuer.publicUrl}/apple`) },
  google: {
    classOf: (pass) => buildClass(issuer, pass),
    objectOf: (pass, at) => buildObject(issuer, pass, at),
  },
}

/** All that publishing would warn of, known without a server. */
export function warningsOf(
  { definition, passType, images }: Pick<DevContent, 'definition' | 'passType' | 'images'>,
  at: Date,
): Warning[] {
  const sizes = sizesByRole(definition, images)
  return definitionWarnings({ definition, passType, images: sizes, wallets: previewWallets, at })
}

/** The values of a holder; of a file with examples where there is none. */
export function scopeOf({ name, definition }: DevContent, holder: DevHolder | undefined): Scope {
  const scope = new Map(sampleScope(definition)).set('template.name', name)
  if (!holder) return scope
  scope.set('pass.externalPassId', holder.externalPassId).set('pass.label', holder.label)
  const values = new Map(Object.entries(holder.variables))
  for (const variable of definition.variables) {
    scope.set(variable.name, values.get(variable.name) ?? variable.default ?? '')
  }
  return scope
}
