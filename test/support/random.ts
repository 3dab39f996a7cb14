import fc from 'fast-check'

// Without it fast-check makes lists and texts of at most about 10 elements, whatever `maxLength` says.
fc.configureGlobal({ defaultSizeToMaxWhenMaxSpecified: true })
