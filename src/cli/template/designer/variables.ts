import type { DefinitionInput, VariableDefinition, VariableFormat } from '../../../core/contract/schemas/definition.ts'
import { inWords } from '../../command/output.ts'
import { columnOf } from '../../import/read-packages.ts'
import { cleanText } from './report.ts'

export type NewVariable = Pick<VariableDefinition, 'example' | 'default'> & {
  /** A key of pass.json. */
  key: string
  label?: string
  format?: VariableFormat
  isRequired?: boolean
}

type WrittenVariable = NonNullable<DefinitionInput['variables']>[number]

const MAX_NAME = 60
/** The maximum number of variables, as in the schema of a definition. */
const MAX_VARIABLES = 200

/** The variables of the definition that an import creates. Their examples are the values in the imported template. */
export class Variables {
  readonly #byName = new Map<string, WrittenVariable>()

  /** Adds a variable with a free name, and returns its placeholder. Above the maximum, returns the example itself. */
  add({ key, label, format, isRequired = false, ...rest }: NewVariable): string {
    if (this.#byName.size === MAX_VARIABLES) return rest.example ?? ''
    const name = this.#freeName(nameOf(key))
    const words = inWords(name).replaceAll('_', ' ').trim()
    const shown = cleanText(label ?? '').trim() || `${words.charAt(0).toUpperCase()}${words.slice(1)}`
    this.#byName.set(name, {
      name,
      label: shown.slice(0, 255),
      ...(isRequired && { required: true }),
      ...(format !== undefined && format !== 'text' && { format }),
      ...rest,
    })
    return `{{${name}}}`
  }

  has(placeholder: string): boolean {
    return this.#byName.has(placeholder.slice(2, -2))
  }

  require(placeholder: string): void {
    const variable = this.#byName.get(placeholder.slice(2, -2))
    if (variable) variable.required = true
  }

  list(): WrittenVariable[] {
    return [...this.#byName.values()]
  }

  #freeName(name: string): string {
    let free = name
    for (let n = 2; this.#byName.has(free); n += 1) free = `${name}${n}`
    return free
  }
}

/** Returns a variable name for a key. The name must also be valid as a column name in CSV files. */
function nameOf(key: string): string {
  const plain = columnOf(key)
    .replaceAll(/[^A-Za-z0-9_]/g, '_')
    .slice(0, MAX_NAME)
  return /^[A-Za-z]/.test(plain) ? plain : `field_${plain}`
}
