import type { Warning } from '../../core/contract/warnings.ts'
import { Problem } from '../../core/errors.ts'
import { renderCard } from '../../core/rules/display/card.ts'
import { parseRgb } from '../../core/rules/display/colors.ts'
import { lintDefinition } from '../../core/rules/display/lint.ts'
import { longScope } from '../../core/rules/template/definition.ts'
import type { TemplateFile } from './template-file.ts'

/**
 * What the design of a file would have a server warn of, as far as that can be known without one: of the fields as iPhones
 * show them, without those that overrides replace, and not of the sizes of images or of Google.
 */
export function findFileWarnings({ definition, passType }: Pick<TemplateFile, 'definition' | 'passType'>): Warning[] {
  try {
    const card = renderCard({ definition, passType, scope: longScope(definition), expiresAt: null, voided: false })
    const {
      backgroundColor,
      foregroundColor,
      labelColor,
      logoText = card.logoText,
    } = card.apple as Record<string, string>
    const colors = {
      background: parseRgb(backgroundColor) ?? card.colors.background,
      foreground: parseRgb(foregroundColor) ?? card.colors.foreground,
      label: parseRgb(labelColor) ?? card.colors.label,
    }
    const apple = { ...card, logoText, colors }
    return lintDefinition({ definition, passType, apple, google: null, images: {}, wantedPixels: {} })
  } catch (error) {
    // One that comes out too large is refused by the server, and says why.
    if (error instanceof Problem) return []
    throw error
  }
}
