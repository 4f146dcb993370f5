# Hashes, strings, sorting and child processes: what a Perl program does to an allocator.
use strict;
use warnings;

my %table;
for my $i (0 .. 199_999) { push @{ $table{ "key " . ($i * 7919 % 5003) } }, "value $i" }
my $count = 0;
$count += @{ $table{$_} } for keys %table;
print "table ", scalar(keys %table), " $count\n";
delete $table{$_} for grep { /7$/ } keys %table;
print "left ", scalar(keys %table), "\n";

my @sorted = sort { $a cmp $b } map { @$_ } values %table;
print "sorted $sorted[0] $sorted[-1]\n";
my $text = join ",", @sorted;
my $found = () = $text =~ /value (\d+)9,/g;
print "found $found ", length($text), "\n";
my $grown = "";
$grown .= "$_;" for 1 .. 300_000;
print "grown ", length($grown), " ", unpack("%32C*", $grown), "\n";

for my $i (1 .. 5) {
    my $pid = open(my $child, "-|") // die;
    if (!$pid) { print "child $i ", scalar(keys %table), "\n"; exit 0 }
    print <$child>;
    close $child;
}
print "shell ", `echo one | tr a-z A-Z`;
