error 'in module'
